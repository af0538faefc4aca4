// Steps that say nothing of who is slow, since ranks rightly differ in them: the first ones of a
// process (compilation, caches, allocators that grow), and those spent in a checkpoint or an
// evaluation, where one rank writes and the others wait. Nothing is diagnosed of them; how many
// they were is counted.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "schemas/pattern_batch.h"

namespace eroica {

struct SuppressedSteps {
  uint32_t warm_up = 0;
  uint32_t checkpoint = 0;
  uint32_t evaluation = 0;

  void Add(const SuppressedSteps& other);
  uint32_t all() const { return warm_up + checkpoint + evaluation; }
  // "2 steps of warm-up, 1 of a checkpoint"; empty where there are none.
  std::string Text() const;
};

// Steps 0 to this, less one: processes number their steps from 0, as torch.profiler does.
inline constexpr int64_t kWarmUpSteps = 3;

// Takes such steps out of all batches of one window: a step that one rank spent in a pause, the
// others spent waiting for it. Where fewer than kLeastSteps would be left, those of warm-up stay: a
// trace of a single step is diagnosed as it is. Each step counts once, however many ranks tell of
// it. With pauses go the patterns of what most ranks' threads ran in as few steps: a checkpoint's
// writing is no reason why a rank was late in another step.
inline constexpr size_t kLeastSteps = 3;
SuppressedSteps SuppressSteps(std::span<PatternBatch> batches);

}  // namespace eroica
