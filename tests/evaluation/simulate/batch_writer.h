// Makes EventBatches of what ranks have run: sorted, on the clock of the rank's host, at most
// kMaxIntervals in one. What has not ended stays with the rank for a later batch. Some batches are
// lost where telemetry loses them: those arrive without their contents, and say how much that was.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <span>
#include <vector>

#include "producers/core/batch_sink.h"
#include "schemas/event_batch.h"
#include "tests/evaluation/simulate/host_clock.h"
#include "tests/evaluation/simulate/rank_state.h"
#include "tests/evaluation/simulate/simulated_job.h"
#include "tests/evaluation/simulate/stage_program.h"
#include "tests/evaluation/simulate/step_runner.h"

namespace eroica::simulate {

class BatchWriter {
 public:
  static constexpr size_t kMaxIntervals = 8'192;  // of a batch
  static constexpr size_t kMaxSamples = 16'384;
  // Members of larger groups are listed in every kListEvery-th batch only: who reads learns them
  // once.
  static constexpr size_t kLargeGroup = 64;
  static constexpr uint64_t kListEvery = 16;

  // All arguments must outlive the writer.
  // process: of the processes that ran the job's ranks, the how many-eth.
  BatchWriter(const SimulatedJob& job, const GroupTable& groups,
              std::span<const StageProgram> stages, const FunctionCatalog& catalog,
              StepRunner& runner, BatchSink& sink, uint32_t process = 0);

  // Reports and forgets what the rank has run. samples: of the rank, by true time.
  absl::Status Write(RankState& rank, std::span<const ResourceSample> samples, bool final);
  // Times of the report and of what connections did meanwhile are true time.
  absl::Status WriteProgress(const RankState& rank, ProgressReport report,
                             std::vector<ConnectionSample> connections, bool final);

  uint64_t events() const { return events_; }
  uint64_t lost() const { return lost_; }

 private:
  // Rows of one lane, by start, that are not in a batch yet.
  struct Run {
    std::span<const IntervalRow> rows;
    size_t next = 0;
    uint8_t lane = 0;
    const RankStream* stream = nullptr;  // of collectives: rows[i] is its i-th

    int64_t head_ns() const { return next < rows.size() ? rows[next].start_ns : kNeverNs; }
  };

  void OpenBatch(const RankState& rank);
  void OpenRuns(RankState& rank);
  void AddStreamRun(const RankState& rank, size_t index);
  // Moves rows that start before cut_ns into the batch, until it is full. Answers with the start of
  // the earliest row that is left, kNeverNs where none is.
  int64_t Merge(const StageProgram& stage, const HostClock& clock, int64_t cut_ns);
  void TakeCollectives(const StageProgram& stage, const RankStream& stream, size_t row,
                       size_t count, size_t interval);
  // What the rank's connections carried in the collectives that have ended, for the batch at hand.
  void TakeConnections(const RankState& rank);
  void TakeSamplesAndMarks(const RankState& rank, std::span<const ResourceSample> samples,
                           int64_t cut_ns);
  void ForgetWritten(RankState& rank);
  absl::Status Flush(const RankState& rank, int64_t true_ns, bool final);
  bool IsLost(const RankState& rank, uint64_t sequence) const;
  void LoseContents();

  const SimulatedJob& job_;
  const GroupTable& groups_;
  std::span<const StageProgram> stages_;
  const FunctionCatalog& catalog_;
  StepRunner& runner_;
  BatchSink& sink_;
  const uint32_t first_pid_;
  std::vector<HostClock> clocks_;        // by host
  std::vector<uint64_t> next_sequence_;  // by rank
  std::vector<EventBatch> batches_;      // by stage; its tables are kept between batches
  // by stage and communicator: what the batch holds of it, so that equal lists are not copied again
  std::vector<std::vector<uint64_t>> listed_;

  EventBatch* batch_ = nullptr;  // at hand
  std::vector<Run> runs_;
  std::vector<int64_t> heads_;  // of the runs: where they go on
  std::vector<std::vector<IntervalRow>> stream_rows_;
  std::vector<IntervalRow> closed_rows_;  // of the training thread, where frames are open
  std::vector<uint32_t> times_moved_;     // by transfer of the rendezvous at hand
  size_t samples_taken_ = 0;
  size_t marks_taken_ = 0;
  uint64_t events_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace eroica::simulate
