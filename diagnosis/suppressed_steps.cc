#include "diagnosis/suppressed_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "diagnosis/measurements/thread_function.h"

namespace eroica {
namespace {

// Of all ranks, by id.
std::map<int64_t, Pause> PausesOfSteps(std::span<const PatternBatch> batches) {
  std::map<int64_t, Pause> pauses;
  for (const PatternBatch& batch : batches) {
    for (const StepRecord& step : batch.steps) {
      Pause& pause = pauses[step.id];
      if (pause == Pause::kNone) pause = step.pause;
    }
  }
  return pauses;
}

void Remove(const std::map<int64_t, Pause>& removed, std::span<PatternBatch> batches) {
  for (PatternBatch& batch : batches)
    std::erase_if(batch.steps,
                  [&removed](const StepRecord& step) { return removed.contains(step.id); });
}

// What the threads of half of the ranks ran in no more steps than were pauses, and no rank in more:
// it may be what pauses are spent in, and says nothing of other steps.
void RemoveWhatPausesRun(uint32_t pauses, std::span<PatternBatch> batches) {
  struct Runs {
    uint32_t most_steps = 0;
    size_t ranks = 0;
  };
  std::unordered_map<uint64_t, Runs> functions;
  for (const PatternBatch& batch : batches) {
    for (const FunctionPattern& pattern : batch.patterns) {
      if (!RunsOnThread(pattern.function_class) || pattern.active_steps == 0) continue;
      Runs& runs = functions[pattern.function.value];
      runs.most_steps = std::max(runs.most_steps, pattern.active_steps);
      ++runs.ranks;
    }
  }
  const auto of_pauses = [&](const FunctionPattern& pattern) {
    const auto runs = functions.find(pattern.function.value);
    return runs != functions.end() && runs->second.most_steps <= pauses &&
           2 * runs->second.ranks >= batches.size();
  };
  for (PatternBatch& batch : batches) std::erase_if(batch.patterns, of_pauses);
}

}  // namespace

void SuppressedSteps::Add(const SuppressedSteps& other) {
  warm_up += other.warm_up;
  checkpoint += other.checkpoint;
  evaluation += other.evaluation;
}

std::string SuppressedSteps::Text() const {
  std::vector<std::string> parts;
  const auto add = [&parts](uint32_t steps, std::string_view of) {
    if (steps > 0) parts.push_back(fmt::format("{} of {}", steps, of));
  };
  add(warm_up, "warm-up");
  add(checkpoint, "a checkpoint");
  add(evaluation, "an evaluation");
  return fmt::format("{}", fmt::join(parts, ", "));
}

SuppressedSteps SuppressSteps(std::span<PatternBatch> batches) {
  const auto special = [](const StepRecord& step) {
    return step.pause != Pause::kNone || step.id < kWarmUpSteps;
  };
  if (std::ranges::none_of(batches, [&](const PatternBatch& batch) {
        return std::ranges::any_of(batch.steps, special);
      }))
    return {};
  std::map<int64_t, Pause> steps = PausesOfSteps(batches);
  const auto paused = static_cast<size_t>(
      std::ranges::count_if(steps, [](const auto& step) { return step.second != Pause::kNone; }));
  const auto is_warm_up = [](const auto& step) {
    return step.second == Pause::kNone && step.first < kWarmUpSteps;
  };
  const auto warm_up = static_cast<size_t>(std::ranges::count_if(steps, is_warm_up));
  const bool enough = steps.size() - paused - warm_up >= kLeastSteps;
  std::erase_if(steps, [&](const auto& step) {
    return step.second == Pause::kNone && !(enough && is_warm_up(step));
  });
  Remove(steps, batches);
  SuppressedSteps suppressed;
  for (const auto& [id, pause] : steps) {
    ++(pause == Pause::kCheckpoint   ? suppressed.checkpoint
       : pause == Pause::kEvaluation ? suppressed.evaluation
                                     : suppressed.warm_up);
  }
  if (const uint32_t pauses = suppressed.checkpoint + suppressed.evaluation; pauses > 0)
    RemoveWhatPausesRun(pauses, batches);
  return suppressed;
}

}  // namespace eroica
