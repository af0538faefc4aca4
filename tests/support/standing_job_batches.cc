#include "tests/support/standing_job_batches.h"

#include <string>
#include <utility>

#include "schemas/time_unit.h"

namespace eroica::testing {
namespace {

// Writes the batches of one rank.
class RankWriter {
 public:
  RankWriter(const StandingJobOptions& options, uint32_t rank, std::vector<EventBatch>* batches)
      : options_(options),
        rank_(rank),
        batches_(batches),
        now_ns_(1'000 * kNsPerSecond + rank * 37 * kNsPerSecond) {}

  void Run() {
    for (; step_ < options_.steps; ++step_) WriteStep();
    const bool dies = options_.fault == StandingFault::kDies && rank_ == options_.culprit;
    if (dies) return;
    Stand();
    for (int64_t i = 0; i < options_.steps_after; ++i, ++step_) WriteStep();
    batches_->back().final = true;
  }

 private:
  EventBatch& NewBatch() {
    EventBatch& batch = batches_->emplace_back();
    batch.identity = {.job = JobId{"job"},
                      .rank = RankId{rank_},
                      .world_size = options_.ranks,
                      .host = "node-" + std::to_string(rank_),
                      .pid = 100 + rank_,
                      .device = 0,
                      .producer = "test",
                      .window_steps = 5};
    batch.sequence = sequence_++;
    batch.functions = {{.name = "gemm", .function_class = FunctionClass::kGpuCompute},
                       {.name = "all_reduce", .function_class = FunctionClass::kCollective},
                       {.name = kStuckFunction, .function_class = FunctionClass::kPython},
                       {.name = "train.py: backward", .function_class = FunctionClass::kPython}};
    batch.lanes = {{"main", LaneKind::kTrainingThread}, {"stream 7", LaneKind::kDeviceStream}};
    Communicator group{CommId{7}, "dp", "data parallel", options_.ranks, {}};
    for (uint32_t rank = 0; rank < options_.ranks; ++rank) group.ranks.push_back(rank);
    batch.communicators = {std::move(group)};
    return batch;
  }

  void WriteStep() {
    const int64_t length_ns = options_.step_seconds * kNsPerSecond;
    EventBatch& batch = NewBatch();
    batch.marks = {{now_ns_, MarkKind::kStepBegin, step_},
                   {now_ns_ + length_ns, MarkKind::kStepEnd, step_}};
    batch.intervals.push_back(now_ns_, length_ns * 6 / 10, 0, 1);
    batch.intervals.push_back(now_ns_ + length_ns * 6 / 10, length_ns * 3 / 10, 1, 1);
    batch.collectives = {{.interval = 1,
                          .operation = CollectiveOperation::kAllReduce,
                          .sequence = static_cast<uint64_t>(step_),
                          .bytes = 64}};
    now_ns_ += length_ns;
  }

  void Stand() {
    EventBatch& first = NewBatch();
    first.marks = {{now_ns_, MarkKind::kStepBegin, step_}};
    const bool checkpoint = options_.fault == StandingFault::kCheckpoint;
    if (checkpoint) first.marks.push_back({now_ns_ + 1, MarkKind::kCheckpointBegin, step_});
    const bool culprit = rank_ == options_.culprit;
    for (int64_t second = 1; second <= options_.report_seconds; ++second) {
      ProgressReport report{
          .time_ns = now_ns_ + second * kNsPerSecond, .step = step_, .function = 3};
      InFlightCollective row{.operation = CollectiveOperation::kAllReduce,
                             .started = true,
                             .sequence = static_cast<uint64_t>(step_),
                             .bytes = 64,
                             .launched_ns = now_ns_ + 1'000};
      if (options_.fault == StandingFault::kWrongCollective && culprit)
        row = {.operation = CollectiveOperation::kBroadcast,
               .started = true,
               .sequence = 0,
               .bytes = 64,
               .launched_ns = now_ns_ + 1'000};
      const bool stuck = culprit && (options_.fault == StandingFault::kNeverLaunches || checkpoint);
      if (stuck) report.function = 2;
      if (!stuck) report.in_flight = {row};
      NewBatch().progress = {std::move(report)};
    }
    now_ns_ += options_.report_seconds * kNsPerSecond;
    if (checkpoint) NewBatch().marks = {{now_ns_, MarkKind::kCheckpointEnd, step_}};
    if (options_.steps_after == 0) return;
    // The step that stood still ends after all.
    EventBatch& last = NewBatch();
    last.intervals.push_back(now_ns_, kNsPerSecond / 10, 1, 1);
    last.collectives = {{.operation = CollectiveOperation::kAllReduce,
                         .sequence = static_cast<uint64_t>(step_),
                         .bytes = 64}};
    now_ns_ += kNsPerSecond;
    last.marks = {{now_ns_, MarkKind::kStepEnd, step_}};
    ++step_;
  }

  const StandingJobOptions& options_;
  const uint32_t rank_;
  std::vector<EventBatch>* batches_;
  uint64_t sequence_ = 0;
  int64_t step_ = 0;
  int64_t now_ns_;
};

}  // namespace

std::vector<EventBatch> StandingJobBatches(const StandingJobOptions& options) {
  std::vector<EventBatch> batches;
  for (uint32_t rank = 0; rank < options.ranks; ++rank) RankWriter(options, rank, &batches).Run();
  return batches;
}

}  // namespace eroica::testing
