// The first stage: EventBatches of ranks in, their patterns and collectives by window out (DESIGN
// 7). One a task; ranks of many jobs meet in it.
//
// In:  Topic::kEvents, EventBatch. What cannot be decoded goes to the dead-letter topic.
// Out: Topic::kPatterns, a PatternBatch a rank and window, small functions folded, and a
// RankStanding a report of progress; Topic::kCollectives,
//      a CollectiveBatch for each communicator that the rank is a member of, empty ones too, so
//      that align knows the rank is through. Table::kProgress: how far each rank's windows are
//      closed; the rest of the state is read again from the input, see RestartOffset.
// Time: event time of each rank (rank_windows.h). The result depends neither on the order of
// arrival within the out-of-orderness bound, nor on
//      duplicates, the number of partitions, or a restart.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schemas/codec.h"
#include "stream_ops/pattern/function_table.h"
#include "stream_ops/processor.h"
#include "stream_ops/summarize/communicator_table.h"
#include "stream_ops/summarize/plausibility.h"
#include "stream_ops/summarize/rank_windows.h"
#include "stream_ops/summarize/standing_emitter.h"
#include "stream_ops/summarize/summarize_options.h"
#include "stream_ops/summarize/summarize_probe.h"
#include "stream_ops/summarize/window_emitter.h"

namespace eroica {

class SummarizeProcessor final : public Processor {
 public:
  explicit SummarizeProcessor(const SummarizeOptions& options);

  absl::Status Init(ProcessorContext& context) override;
  absl::Status Process(const ConsumerRecord& record) override;
  // The same of a batch at hand, which keeps its invariants (schemas/invariants.h). offset: grows
  // from batch to batch.
  void ProcessBatch(const EventBatch& batch, int64_t offset);
  absl::Status Punctuate(PunctuationType type) override;
  int64_t RestartOffset(int64_t next) const override;
  uint64_t held_bytes() const override {
    return shared_.pool.held_bytes() + shared_.pool.spare_bytes();
  }

  const SummarizeProbe& probe() const { return shared_.probe; }
  // Events that wait for their windows to close.
  uint64_t events_held() const;

 private:
  struct Job {
    FunctionTable functions;
    CommunicatorTable communicators;
    uint32_t world_size = 1;
    std::map<RankId, RankWindows> ranks;
    std::map<RankId, int64_t> reported;  // of ReportedUntil, what a restart found
    Plausibility plausible;
    RankId unfinished;  // that has not said its last words, when it was asked last
  };
  // A silent rank is reported for this many of its newest windows at most.
  static constexpr int64_t kMostSilentWindows = 16;
  // Outputs that are held at once: what one record closes beyond waits for the rank's next record,
  // or for the next time that all is idle. A batch may close a thousand windows of whatever it
  // says.
  static constexpr uint64_t kMostBytesAtOnce = uint64_t{64} << 20;

  absl::Status ProcessRecord(const ConsumerRecord& record);
  absl::Status CloseIdle(PunctuationType type);
  absl::Status AgeJobs();
  void CountUnused();
  DropReason Refuse(const EventBatch& batch, const ConsumerRecord& record);
  RankWindows& RankOf(Job& job, RankId rank);
  void StoreNewCommunicators(const JobId& id, const Job& job, const std::vector<uint32_t>& numbers);
  void SendStandings(Job& job, RankWindows& rank, RankWindows::Close close, uint64_t bytes_max);
  // False where more is to close than may be held.
  bool CloseWindows(Job& job, RankWindows& rank, RankWindows::Close close,
                    uint64_t bytes_max = kMostBytesAtOnce);
  bool FinishIfAllSeen(Job& job, RankWindows& rank);
  void ReportSilence(Job& job);
  // Whether all ranks of the job have said their last words.
  static bool HasEnded(Job& job);
  absl::Status ForgetJobs();
  void KeepWithinMemory();
  void ForwardSummarized(const ConsumerRecord& record, PayloadType type);

  RankWindows::Shared shared_;
  MemoryUse memory_;
  WindowEmitter emitter_;
  StandingEmitter standing_emitter_;
  ProcessorContext* context_ = nullptr;
  Decoder decoder_;
  EventBatch batch_;  // recycled, like everything below
  ClosedRankWindow closed_;
  HeldReport held_;
  std::vector<uint32_t> function_numbers_;
  std::vector<uint32_t> communicator_numbers_;
  std::map<JobId, Job> jobs_;
  JobAges ages_;
  int64_t offset_ = -1;     // of the last record
  SummarizeProbe counted_;  // of which the context has heard
};

}  // namespace eroica
