// Windows of a small training job for the tests of the operators: every rank's steps are equally
// long, who works less waits more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/collective_summary.h"
#include "schemas/finding.h"
#include "schemas/pattern_batch.h"
#include "schemas/time_unit.h"

namespace eroica {

// Ranks of one window. Work is given in milliseconds a step; Finish() makes the steps: as long as
// the busiest rank of each, the others wait.
class TrainingView {
 public:
  explicit TrainingView(uint32_t world_size, uint32_t steps = 8)
      : steps_(steps), work_ms_(world_size, std::vector<double>(steps, 0)) {
    batches_.resize(world_size);
    for (uint32_t rank = 0; rank < world_size; ++rank) {
      PatternBatch& batch = batches_[rank];
      batch.job = JobId{"job"};
      batch.rank = RankId{rank};
      batch.world_size = world_size;
      batch.host = "host" + std::to_string(rank / 8);
      batch.window = {.kind = WindowKind::kSteps,
                      .index = 0,
                      .start_ns = 0,
                      .end_ns = 0,
                      .first_step = 0,
                      .last_step = steps - 1};
      batch.completeness.events = 1000;
    }
  }

  // The rank runs the function for so long in each step of [first, last).
  TrainingView& Run(uint32_t rank, std::string_view name, double ms, std::string_view stack = "",
                    FunctionClass function_class = FunctionClass::kPython) {
    return RunInSteps(rank, name, ms, 0, steps_, stack, function_class);
  }
  TrainingView& RunInSteps(uint32_t rank, std::string_view name, double ms, uint32_t first,
                           uint32_t last, std::string_view stack = "",
                           FunctionClass function_class = FunctionClass::kPython) {
    PatternBatch& batch = batches_[rank];
    FunctionPattern pattern;
    pattern.function =
        HashFunction(function_class, std::string(stack) + "/" + std::string(name), FunctionId{0});
    pattern.name = name;
    pattern.stack = stack;
    pattern.function_class = function_class;
    pattern.critical_ns = static_cast<int64_t>(ms * (last - first) * kNsPerMs);
    pattern.total_ns = pattern.critical_ns;
    pattern.count = last - first;
    pattern.active_steps = last - first;
    batch.patterns.push_back(pattern);
    for (uint32_t step = first; step < last; ++step) work_ms_[rank][step] += ms;
    return *this;
  }
  TrainingView& RunOnAll(std::string_view name, double ms, std::string_view stack = "",
                         FunctionClass function_class = FunctionClass::kPython) {
    for (uint32_t rank = 0; rank < batches_.size(); ++rank)
      Run(rank, name, ms, stack, function_class);
    return *this;
  }
  // Work in no function of its own: noise.
  TrainingView& Jitter(uint32_t rank, uint32_t step, double ms) {
    work_ms_[rank][step] += ms;
    return *this;
  }
  // Functions are known by so many sampled stacks of each rank.
  TrainingView& SampleStacks(uint64_t samples) {
    for (PatternBatch& batch : batches_)
      batch.levels = {{.resource = Resource::kStacks, .mean = 1, .max = 1, .samples = samples}};
    return *this;
  }
  TrainingView& Role(uint32_t rank, std::string_view role) {
    batches_[rank].role = role;
    return *this;
  }
  CollectiveSummary& AddSummary() {
    CollectiveSummary& summary = summaries_.emplace_back();
    summary.job = JobId{"job"};
    summary.communicator = CommId{summaries_.size()};
    summary.communicator_description = "group" + std::to_string(summaries_.size());
    summary.world_size = static_cast<uint32_t>(batches_.size());
    return summary;
  }

  TrainingView& Finish() {
    for (uint32_t step = 0; step < steps_; ++step) {
      double longest = 0;
      for (const auto& work : work_ms_) longest = std::max(longest, work[step]);
      for (uint32_t rank = 0; rank < batches_.size(); ++rank) {
        batches_[rank].steps.push_back(
            {.id = step,
             .duration_ns = static_cast<int64_t>(longest * kNsPerMs),
             .peer_wait_ns = static_cast<int64_t>((longest - work_ms_[rank][step]) * kNsPerMs)});
      }
    }
    for (PatternBatch& batch : batches_) {
      for (const StepRecord& step : batch.steps) batch.window.end_ns += step.duration_ns;
      std::sort(batch.patterns.begin(), batch.patterns.end(),
                [](const auto& a, const auto& b) { return a.function < b.function; });
      for (FunctionPattern& pattern : batch.patterns) {
        pattern.beta =
            static_cast<double>(pattern.critical_ns) / static_cast<double>(batch.window.end_ns);
      }
    }
    return *this;
  }

  std::vector<PatternBatch>& batches() { return batches_; }
  std::vector<CollectiveSummary>& summaries() { return summaries_; }

 private:
  uint32_t steps_;
  std::vector<std::vector<double>> work_ms_;  // [rank][step]
  std::vector<PatternBatch> batches_;
  std::vector<CollectiveSummary> summaries_;
};

// What an operator, as it is made by default, claims of the job.
template <typename Operator>
std::vector<Finding> ClaimsOf(TrainingView& job) {
  const CrossRankView view(job.batches(), job.summaries());
  std::vector<Finding> findings;
  Operator().Evaluate(view, findings);
  return findings;
}

}  // namespace eroica
