// The diagnose stage: from the patterns topic to the findings topic. Gathers a job's window, asks
// RootCause, publishes what changed. Gathers where ranks stand that get no further, and asks the
// hang operator when all do: no window closes in a hang. One instance a task, one thread.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/explanation/root_cause.h"
#include "diagnosis/hang/hang_operator.h"
#include "diagnosis/suppressed_steps.h"
#include "schemas/codec.h"
#include "stream_ops/diagnose/diagnosed_job.h"
#include "stream_ops/diagnose/finding_event.h"
#include "stream_ops/diagnose/job_board.h"
#include "stream_ops/job_ages.h"
#include "stream_ops/memory_pool.h"
#include "stream_ops/processor.h"

namespace eroica {

// Plain counters. patterns + summaries = used + duplicate + closed, and what is in open windows is
// among the used. Standings are in none of these.
struct DiagnoseProbe {
  uint64_t patterns_received = 0;
  uint64_t summaries_received = 0;
  uint64_t standings_received = 0;
  uint64_t standstills_diagnosed = 0;
  uint64_t duplicates = 0;
  uint64_t for_closed_windows = 0;
  uint64_t dead_lettered = 0;
  uint64_t windows_diagnosed = 0;
  uint64_t windows_incomplete = 0;  // diagnosed without waiting for everybody
  uint64_t runs_begun = 0;          // of jobs that were known: started again under their name
  uint64_t findings_published = 0;
  uint64_t jobs_forgotten = 0;  // that were over (job_ages.h); their findings stay
  uint64_t findings_expired = 0;
  // findings and memories of windows that broke the rules of their type
  // (ProcessorContext::DropOutput)
  uint64_t outputs_dropped = 0;
  SuppressedSteps suppressed;  // of all windows
};

struct DiagnoseOptions {
  // Wall clock, in ns since the epoch, for Finding::emitted_at_ns (without one 0) and for how long
  // findings stay. Nothing is diagnosed by it.
  std::function<int64_t()> wall_clock_ns;
  std::string replay_id;  // Finding::replay_id
  JobRetention jobs;
  // Of the stage on this node: what waits for its windows to be complete. Beyond, the oldest window
  // of the job that holds the most is diagnosed. Without one there is no bound.
  std::shared_ptr<MemoryPool> memory{};
  // CloudEvents' source of the findings: a URI reference, the same on all nodes.
  std::string event_source = "/eroica";
  // Findings go to Topic::kFindingsJson as well, which must exist then.
  bool json_topic = false;
  // Of the findings of jobs that are over, by the wall clock, since each was published last;
  // without a clock they stay.
  int64_t findings_retention_ns = int64_t{30} * 24 * 3'600 * 1'000'000'000;
  // Where people look at the windows; outlives the processor. Without one nothing is kept for them.
  std::shared_ptr<JobBoard> board{};
  // Of the stage summarize (SummarizeOptions): for what people see of functions without a row.
  double fold_below = 1;
  // Called with each version of a finding as it is published, on the stage's thread; after a crash
  // perhaps twice. It must not block.
  std::function<void(const Finding&)> on_published = nullptr;
};

class DiagnoseProcessor final : public Processor {
 public:
  explicit DiagnoseProcessor(DiagnoseOptions options = {});

  absl::Status Init(ProcessorContext& context) override;
  absl::Status Process(const ConsumerRecord& record) override;
  absl::Status Punctuate(PunctuationType type) override;
  int64_t RestartOffset(int64_t next) const override;

  const DiagnoseProbe& probe() const { return probe_; }

 private:
  // Of the pool.
  static constexpr double kPackedAbove = 0.125;

  // The job as the store has it when it is first met.
  absl::StatusOr<DiagnosedJob*> FindJob(const JobId& id);
  // Why a window waits no longer.
  enum class WindowEnd : uint8_t { kComplete, kNothingComes, kMemoryFull };
  // end: where the window is not complete.
  void DiagnoseOldest(const JobId& id, DiagnosedJob& job, WindowEnd end);
  // After what takes so many bytes was added to this window.
  void KeepWithinMemory(DiagnosedJob& job, WindowId window, uint64_t bytes);
  // Where much waits, batches and summaries wait packed, which takes a tenth: beside them stays
  // what is asked of open windows.
  bool Packs() const { return memory_.TakesMoreThan(kPackedAbove); }
  // first: of the job's payloads of this kind that was packed; set where there is none.
  PackedPayload Pack(const std::string& payload, std::string* first);
  // Puts what waited packed in place of its outlines.
  template <typename Key, typename T>
  void Unpack(WindowId id, const std::map<Key, PackedPayload>& packed, std::string_view first,
              std::map<Key, T>* outlines);
  // What follows from a run that has begun since this one was the newest.
  absl::Status HearOfRuns(const JobId& id, DiagnosedJob& job, uint64_t newest_before);
  // Counts it, and hears of the job.
  void Count(const JobId& id, int64_t offset, JobWindows::Added added);
  absl::Status ForgetJobs();
  absl::Status ExpireFindings();
  absl::Status ProcessPayload(const ConsumerRecord& record);
  absl::Status Add(PatternBatch batch, const ConsumerRecord& record);
  absl::Status Add(CollectiveSummary summary, const ConsumerRecord& record);
  absl::Status Add(RankStanding standing, const ConsumerRecord& record);
  template <typename T>
  absl::Status DecodeAndAdd(const ConsumerRecord& record);
  absl::Status DeadLetter(DropReason reason);
  // A process that has ended: at once, as nothing will wait for it.
  void DiagnoseEnd(const RankStanding& standing, DiagnosedJob& job, int64_t timestamp_ms);
  void DiagnoseHangs(const JobId& id, DiagnosedJob& job, bool end);
  void CloseComplete(const JobId& id, DiagnosedJob& job);
  void Diagnose(const JobId& id, DiagnosedJob& job, WindowId window_id, WindowEnd end);
  // The window in the job's row, and on the board.
  void Show(const JobId& id, const CrossRankView& view, WindowSummary summary);
  std::vector<Finding> FindingsOf(const JobId& id, const CrossRankView& view, DiagnosedJob& job);
  void Publish(Finding finding, int64_t timestamp_ms);
  void ForwardFinding(const Finding& finding, std::string payload, FindingFormat format,
                      int64_t timestamp_ms);

  DiagnoseOptions options_;
  RootCause root_cause_;
  HangOperator hang_operator_;
  ProcessorContext* context_ = nullptr;
  Decoder decoder_;
  PayloadPacker packer_;
  Encoder encoder_;
  std::map<JobId, std::unique_ptr<DiagnosedJob>> jobs_;
  JobAges ages_;
  std::unique_ptr<JobBoard::Share> shown_;  // nullptr: there is no board
  MemoryUse memory_;
  uint64_t bytes_ = 0;       // of all open windows, about
  int64_t next_offset_ = 0;  // one past the last record
  int64_t minutes_ = 0;      // that have passed
  DiagnoseProbe probe_;
};

}  // namespace eroica
