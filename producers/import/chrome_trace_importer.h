// Reads one Chrome trace of the PyTorch profiler (Kineto) into a RankTrace. One owner, one thread;
// a new importer for each file.
//
// What becomes of the events:
//   kernel, gpu_memcpy, gpu_memset           intervals on device streams (gpu_compute, memory_op;
//                                            nccl kernels: collective)
//   cpu_op, cuda_runtime and the like        intervals on host threads (cpu_op)
//   python_function                          intervals with their call stack (python)
//   ProfilerStep#N in any category of the host   marks of the step's begin and end
//   user_annotation  Optimizer.step#...      a mark; likewise enumerate(DataLoader)#...__next__
//                    gloo:...                the execution of a collective (collective)
//                    nccl:...                only enqueues a kernel: operation and size go to the
//                                            kernel, the event is skipped
//                    others                  frames (python) where the trace has no Python frames,
//                                            else skipped, as the frames say the same
//   no category, or one that we do not know  what the event's process and its args say
//                                            (process_kinds.h)
//   phases B and E                           one interval a pair (duration_pairs.h)
//   phases other than X, B and E, spans of the profiler itself   skipped
// Events of zero duration are imported: in traces of whole microseconds they are short, not absent.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "producers/import/chrome_event.h"
#include "producers/import/collective_calls.h"
#include "producers/import/duration_pairs.h"
#include "producers/import/function_table.h"
#include "producers/import/import_report.h"
#include "producers/import/json_event_splitter.h"
#include "producers/import/named_event.h"
#include "producers/import/pause_marks.h"
#include "producers/import/process_kinds.h"
#include "producers/import/rank_trace.h"

namespace eroica {

class ChromeTraceImporter {
 public:
  // All must outlive the importer. report: path is set, counts and warnings are filled in.
  // python_stacks: else Python functions are skipped.
  ChromeTraceImporter(TraceFunctions& functions, RankTrace& trace, FileReport& report,
                      bool python_stacks);

  // progress: called now and then with the bytes of the file read so far. Fails only where the
  // import as a whole must stop (the disk is full); a file that is no trace is reported as refused.
  absl::Status Import(ByteSource& source, const std::function<void(uint64_t)>& progress);

  // The flight-recorder dump of this rank, to be given once trace.rank is known. Joins the
  // collectives; no further Import.
  void Finish(FlightRecorderDump dump);

 private:
  struct LaneState {
    std::string name;
    bool device = false;
    bool is_process = false;  // its thread id is the process id: the thread that main() runs on
    uint64_t events = 0;
    uint64_t steps = 0;  // of these; if all, it is no thread but a track that shows the steps
    uint64_t frames = 0;
    bool background = false;  // the first frame is that of a thread's start
    std::string pid;          // empty as long as only calls of CANN name the thread
    bool hccl = false;        // it shows collectives of one group of HCCL's
    bool enqueues = false;    // collectives, or kernels on a device
  };

  void ReadMetadata(std::string_view key, std::string_view value);
  void ReadDistributedInfo(std::string_view value);
  absl::Status ImportEvent(std::string_view text);
  absl::Status EndInterval(const ChromeEvent& event);
  absl::Status EndOpenIntervals();
  absl::Status ImportInterval(const ChromeEvent& event);
  absl::Status AddInterval(const ChromeEvent& event, const NamedEvent& named, uint8_t lane);
  absl::Status AddFrame(const ChromeEvent& event, const NamedEvent& named, uint8_t lane);
  absl::Status AddAnnotation(const ChromeEvent& event, const NamedEvent& named, uint8_t lane);
  absl::Status Store(const ChromeEvent& event, IntervalRecord record);
  void ReadThreadName(const ChromeEvent& event);
  void ReadDevice(std::string_view args);
  const NamedEvent& Lookup(TraceCategory category, std::string_view raw_name);
  uint8_t LaneOf(const ChromeEvent& event, bool device);
  uint8_t AddLane(const ChromeEvent& event, bool device);
  TraceCategory CategoryOf(const ChromeEvent& event);
  void CloseAnnotations();
  void RefuseSeveralRanks();
  void ChooseTrainingThread();
  void RefuseWhatIsOfNoUse();
  void CountImported() { report_.counts.imported += weight_; }
  void Skip(DropReason reason) { report_.counts.skipped.Add(reason, weight_); }

  TraceFunctions& functions_;
  RankTrace& trace_;
  FileReport& report_;
  const bool python_stacks_;
  ProcessKinds processes_;
  DurationPairs pairs_;
  // objects of the file that the event at hand consists of: two of a pair
  uint64_t weight_ = 1;
  CollectiveCalls calls_;
  PauseMarks pauses_;
  absl::flat_hash_map<std::string, NamedEvent, HashStringView, std::equal_to<>> names_;
  size_t name_bytes_ = 0;
  std::string lookup_key_;
  std::string last_category_;
  TraceCategory last_category_value_ = TraceCategory::kUnknown;
  absl::flat_hash_map<std::string, uint8_t, HashStringView, std::equal_to<>> lane_index_;
  absl::flat_hash_map<std::string, uint8_t, HashStringView, std::equal_to<>>
      thread_lanes_;  // by tid
  absl::flat_hash_set<int64_t> steps_;
  std::vector<LaneState> lanes_;
  std::string lane_key_;
  std::string last_lane_key_;
  uint8_t last_lane_ = 0;
  absl::flat_hash_map<std::string, std::string> thread_names_;
  // kept as intervals, of which it is decided at the end whether they are frames
  uint64_t annotations_ = 0;
};

}  // namespace eroica
