// The diagnose stage: from the patterns topic to the findings topic. Gathers a job's window, asks
// RootCause, publishes what changed. Gathers where ranks stand that get no further, and asks the
// hang operator when all do: no window closes in a hang. Adapter between stream_ops and the pure
// code beside it; one instance a task, one thread.
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
#include "diagnosis/hang/hang_watch.h"
#include "diagnosis/ledger/finding_lifecycle.h"
#include "diagnosis/monitoring_gap/telemetry_gaps.h"
#include "diagnosis/suppressed_steps.h"
#include "schemas/codec.h"
#include "stream_ops/diagnose/job_windows.h"
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
  uint64_t findings_published = 0;
  // findings and memories of windows that broke the rules of their type
  // (ProcessorContext::DropOutput)
  uint64_t outputs_dropped = 0;
  SuppressedSteps suppressed;  // of all windows
};

struct DiagnoseOptions {
  // Wall clock for Finding::emitted_at_ns, in ns since the epoch; without one the field stays 0.
  // Not used for anything else.
  std::function<int64_t()> wall_clock_ns;
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
  struct Job {
    JobWindows windows;
    FindingLifecycle lifecycle;
    // profiles of its last windows (job_profile.h), oldest first, of the kind that it was diagnosed
    // in last
    std::vector<PatternBatch> history;
    std::vector<RankTimes> rank_times;  // likewise what its ranks took in them (lasting_excess.h),
    std::vector<RankTimes> work_times;  // what work they had,
    std::vector<RankTimes> exchanged;   // and what they exchanged (exchanged_bytes.h)
    HangWatch hangs;
    TelemetryGaps gaps;
  };
  // The job's state, loaded from the store when it is first met.
  absl::StatusOr<Job*> FindJob(const JobId& id);
  absl::Status LoadHistory(const JobId& id, WindowKind kind, Job& job);
  absl::Status LoadSlots(const std::string& prefix, const JobId& id, WindowKind kind,
                         std::vector<PatternBatch>* windows);
  absl::Status LoadTimes(const std::string& prefix, const JobId& id, WindowKind kind,
                         std::vector<RankTimes>* windows);
  absl::Status LoadMemory(const JobId& id, Job* job) const;
  void Remember(const JobId& id, WindowId window_id, const CrossRankView& view, Job& job);
  void Keep(const std::string& key, const RankTimes& window, const JobId& id,
            std::vector<RankTimes>& windows);
  void Store(const std::string& key, const PatternBatch& window);
  void Count(JobWindows::Added added);
  absl::Status LoadWindows(const JobId& id, Job* job);
  absl::Status LoadStandstills(const JobId& id, Job* job) const;
  absl::Status LoadFindings(const JobId& id, Job* job);
  absl::Status Add(PatternBatch batch, const ConsumerRecord& record);
  absl::Status Add(CollectiveSummary summary, const ConsumerRecord& record);
  absl::Status Add(RankStanding standing, const ConsumerRecord& record);
  template <typename T>
  absl::Status DecodeAndAdd(const ConsumerRecord& record);
  absl::Status DeadLetter(DropReason reason);
  void DiagnoseHangs(const JobId& id, Job& job, bool end);
  absl::Status CloseComplete(const JobId& id, Job& job);
  absl::Status Diagnose(const JobId& id, Job& job, WindowId window_id);
  std::vector<Finding> FindingsOf(const JobId& id, const CrossRankView& view, Job& job);
  void Publish(Finding finding, int64_t timestamp_ms);
  template <typename T>
  std::optional<std::string> Encode(const T& output);

  DiagnoseOptions options_;
  RootCause root_cause_;
  HangOperator hang_operator_;
  ProcessorContext* context_ = nullptr;
  Decoder decoder_;
  Encoder encoder_;
  std::map<JobId, Job> jobs_;
  DiagnoseProbe probe_;
};

}  // namespace eroica
