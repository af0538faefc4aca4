#include "stream_ops/pattern/step_activity.h"

#include <algorithm>

namespace eroica {

void StepActivity::Start(std::span<const StepSpan> steps) {
  steps_ = steps;
  position_ = 0;
  entries_.clear();
  went_back_.clear();
}

void StepActivity::AddAcross(uint32_t function, int64_t begin_ns, int64_t end_ns,
                             const CriticalClock& clock, uint32_t* mark) {
  auto step = std::upper_bound(steps_.begin(), steps_.end(), begin_ns,
                               [](int64_t t, const StepSpan& s) { return t < s.end_ns; });
  for (; step != steps_.end() && step->begin_ns < end_ns && !full(); ++step) {
    const int64_t from = std::max(begin_ns, step->begin_ns);
    const int64_t to = std::min(end_ns, step->end_ns);
    if (!clock.undisturbed() && clock.At(from) == clock.At(to)) continue;
    position_ = static_cast<size_t>(step - steps_.begin());
    Note(function, position_, mark);
  }
}

void StepActivity::Finish(size_t functions) {
  counts_.assign(functions, 0);
  for (const uint64_t entry : entries_) ++counts_[entry >> 32];
  if (went_back_.empty()) return;
  std::vector<bool> again(functions);
  for (const uint32_t function : went_back_) {
    again[function] = true;
    counts_[function] = 0;
  }
  std::erase_if(entries_, [&again](uint64_t entry) { return !again[entry >> 32]; });
  std::sort(entries_.begin(), entries_.end());
  entries_.erase(std::unique(entries_.begin(), entries_.end()), entries_.end());
  for (const uint64_t entry : entries_) ++counts_[entry >> 32];
}

}  // namespace eroica
