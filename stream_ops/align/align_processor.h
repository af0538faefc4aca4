// The align stage: CollectiveBatches of the ranks in, one CollectiveSummary a communicator and
// window out.
//
// A window is closed when all members have delivered (communicator_windows.h), when nothing comes
// any more, or when too much is open. Late batches are counted and left out. Replay-safe: closed
// windows, members, finished ranks and carried rows are in the store; open windows are read again
// from RestartOffset.
// Time: none but the windows' own. Owner: one task.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/codec.h"
#include "stream_ops/align/align_probe.h"
#include "stream_ops/align/align_progress.h"
#include "stream_ops/align/collective_alignment.h"
#include "stream_ops/align/communicator_windows.h"
#include "stream_ops/job_ages.h"
#include "stream_ops/memory_pool.h"
#include "stream_ops/processor.h"

namespace eroica {

struct AlignOptions {
  // Of one communicator; beyond, the oldest is closed with its missing members named. A node that
  // runs for ever sets it: where other jobs keep the partition busy there is never idleness, and
  // one silent rank would hold its communicator's windows open. A bounded run leaves it: there, one
  // rank may deliver all its windows before the next delivers its first.
  size_t open_windows_max = std::numeric_limits<size_t>::max();
  // Of the stage on this node: rows in open windows and carried ones. Beyond, the oldest window of
  // the communicator with the most rows is closed. Without one there is no bound.
  std::shared_ptr<MemoryPool> memory{};
  JobRetention jobs;
};

class AlignProcessor : public Processor {
 public:
  explicit AlignProcessor(AlignOptions options = {})
      : options_(options), ages_(options.jobs), memory_(options.memory) {}

  absl::Status Init(ProcessorContext& context) override;
  absl::Status Process(const ConsumerRecord& record) override;
  absl::Status Punctuate(PunctuationType type) override;
  int64_t RestartOffset(int64_t next) const override;
  uint64_t held_bytes() const override {
    return pending_rows_ * sizeof(CollectiveRecord) + batches_open_ * sizeof(CollectiveBatch);
  }

  const AlignProbe& probe() const { return probe_; }
  uint64_t open_batches() const;
  uint64_t pending_rows() const;  // in open windows, and carried over

 private:
  struct Unit {
    CommunicatorWindows windows;
    std::vector<CollectiveBatch> carried;  // ascending by rank
    bool ended = true;     // its members said their last words, or have not said any yet
    bool crowded = false;  // more than half as many windows are open as may be

    uint64_t rows() const;
  };
  using Units = std::map<AlignKey, Unit>;

  // False where the row cannot be read.
  bool RestoreRow(const AlignRow& row, std::string_view value);
  bool RestoreAge(std::string_view key, std::string_view value);
  std::pair<Units::iterator, Units::iterator> UnitsOf(const JobId& job);
  void CloseOldest(const AlignKey& key, Unit& unit, bool input_has_ended);
  void CloseWhatIsTooMuch(const AlignKey& key, Unit& unit);
  void KeepWithinMemory();
  void SettleCarried(const AlignKey& key, Unit& unit);
  // Whether the unit is crowded now, for the stages before.
  void NoteCrowd(Unit& unit);
  // The unit goes on, or its members have said their last words; the job ends with the last unit.
  void SetEnded(const JobId& job, Unit& unit, bool ended);
  absl::Status ForgetJobs();
  void KeepMembers(const AlignKey& key, Unit& unit);
  void Send(const AlignKey& key, Unit& unit, Alignment alignment);
  void KeepCarried(const AlignKey& key, Unit& unit);

  const AlignOptions options_;
  ProcessorContext* context_ = nullptr;
  Decoder decoder_;
  Encoder encoder_;
  CollectiveAligner aligner_;
  Units units_;  // in order, so that the same input gives the same output, record by record
  JobAges ages_;
  std::map<JobId, size_t> going_on_;  // units of the job that have not ended
  int64_t next_offset_ = 0;           // one past the last record
  uint64_t pending_rows_ = 0;
  uint64_t batches_open_ = 0;
  size_t units_crowded_ = 0;
  MemoryUse memory_;
  AlignProbe probe_;
};

}  // namespace eroica
