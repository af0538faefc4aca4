#include "producers/import/window_choice.h"

#include <algorithm>
#include <limits>
#include <set>

namespace eroica {
namespace {

constexpr int64_t kMostWindows = 4;  // of a trace of up to kMostWindows * kLongest steps
constexpr int64_t kShortest = 6;     // steps: what a comparison of ranks needs to know its error
constexpr int64_t kLongest = 64;

// The widest gaps that a trace may have between its steps, in steps, and still count as one that
// holds them all: a profiler that skips some, as in cycles of wait, warm-up and active.
constexpr int64_t kSpanOfSteps = 2;

std::set<int64_t> StepsOf(std::span<RankTrace* const> traces) {
  std::set<int64_t> steps;
  for (const RankTrace* trace : traces) {
    for (const Mark& mark : trace->marks) {
      if (mark.kind == MarkKind::kStepBegin) steps.insert(mark.id);
    }
  }
  return steps;
}

int64_t SizeFor(int64_t count, int64_t span) {
  if (span > kSpanOfSteps * count)
    return std::min<int64_t>(span, std::numeric_limits<uint32_t>::max());
  const int64_t windows = std::clamp<int64_t>(count / kShortest, 1, kMostWindows);
  return std::min((span + windows - 1) / windows, kLongest);
}

}  // namespace

StepWindows ChooseWindows(std::span<RankTrace* const> traces, uint32_t steps_wanted) {
  const std::set<int64_t> steps = StepsOf(traces);
  if (steps.empty()) return {.size = steps_wanted > 0 ? int64_t{steps_wanted} : kLongest};
  const auto count = static_cast<int64_t>(steps.size());
  StepWindows windows;
  windows.size = steps_wanted > 0 ? int64_t{steps_wanted}
                                  : SizeFor(count, *steps.rbegin() - *steps.begin() + 1);
  windows.offset = *steps.begin() % windows.size;
  return windows;
}

}  // namespace eroica
