#include "stream_ops/pattern/sample_series.h"

#include <algorithm>
#include <cmath>

#include "stream_ops/pattern/sample_steps.h"

namespace eroica {
namespace {

constexpr uint64_t kIdleSteps = 655;  // 1 %

}  // namespace

void SampleSeries::Clear() {
  times_.clear();
  sum_.assign(1, 0);
  square_sum_.assign(1, 0);
  idle_before_.assign(1, 0);
  idle_runs_.clear();
  period_ns_ = 0;
}

void SampleSeries::Add(int64_t time_ns, float share) {
  const auto steps = static_cast<uint64_t>(
      std::lround(std::clamp(static_cast<double>(share), 0.0, 1.0) * kSampleSteps));
  const size_t index = times_.size();
  if (steps <= kIdleSteps) {
    if (!idle_runs_.empty() && idle_runs_.back().first + idle_runs_.back().length == index) {
      ++idle_runs_.back().length;
    } else {
      idle_runs_.push_back({index, 1});
    }
  }
  times_.push_back(time_ns);
  sum_.push_back(sum_.back() + steps);
  square_sum_.push_back(square_sum_.back() + steps * steps);
  idle_before_.push_back(static_cast<uint32_t>(idle_runs_.size()));
}

void SampleSeries::Finish() {
  if (times_.size() < 2) return;
  std::vector<int64_t> distances;
  for (size_t i = 1; i < times_.size(); ++i) distances.push_back(times_[i] - times_[i - 1]);
  const auto middle = distances.begin() + static_cast<ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  period_ns_ = *middle;
}

ResourceUse SampleSeries::Measure(int64_t begin_ns, int64_t end_ns) const {
  const auto index = [&](auto at) { return static_cast<size_t>(at - times_.begin()); };
  Range range{index(std::lower_bound(times_.begin(), times_.end(), begin_ns)), 0};
  range.last = index(
      std::lower_bound(times_.begin() + static_cast<ptrdiff_t>(range.first), times_.end(), end_ns));
  const auto length_ns = static_cast<double>(end_ns - begin_ns);
  if (length_ns <= 0) return {};
  if (range.first == range.last) {
    const bool covered =
        range.first < times_.size() && times_[range.first] - end_ns <= 2 * period_ns_;
    return covered ? Describe({range.first, range.first + 1}, length_ns) : ResourceUse{};
  }
  const Range part = CriticalPart(range);
  return Describe(part, length_ns * static_cast<double>(part.last - part.first) /
                            static_cast<double>(range.last - range.first));
}

ResourceUse SampleSeries::Describe(Range part, double length_ns) const {
  const auto count = static_cast<double>(part.last - part.first);
  const double mean = static_cast<double>(Sum(part)) / count;
  const double square =
      static_cast<double>(square_sum_[part.last] - square_sum_[part.first]) / count;
  return {mean / kSampleSteps, std::sqrt(std::max(0.0, square - mean * mean)) / kSampleSteps,
          length_ns, part.last - part.first};
}

// The smallest longest idle run for which some part still holds 80 % of the use, by bisection: a
// longer allowed run only joins parts.
SampleSeries::Range SampleSeries::CriticalPart(Range range) const {
  if (Sum(range) == 0) return range;
  const bool runs_begin_inside = idle_before_[range.last] != idle_before_[range.first];
  const bool run_reaches_in =
      idle_before_[range.first] > 0 && idle_runs_[idle_before_[range.first] - 1].first +
                                               idle_runs_[idle_before_[range.first] - 1].length >
                                           range.first;
  if (!runs_begin_inside && !run_reaches_in) return range;
  size_t low = 0;
  size_t high = range.last - range.first;
  Range best = range;
  HoldsEnough(range, high, &best);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (HoldsEnough(range, middle, &best)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return best;
}

// Parts: what is left of range when idle runs at its ends and those longer than idle_max are taken
// out. Since 0.8 > 0.5, one part at most qualifies.
bool SampleSeries::HoldsEnough(Range range, size_t idle_max, Range* part) const {
  const uint64_t all = Sum(range);
  const auto enough = [&](size_t first, size_t last) {
    if (first >= last || 5 * Sum({first, last}) < 4 * all) return false;
    *part = {first, last};
    return true;
  };
  size_t run = idle_before_[range.first] > 0 ? idle_before_[range.first] - 1 : 0;  // may reach in
  size_t first = range.first;
  for (; run < idle_runs_.size() && idle_runs_[run].first < range.last; ++run) {
    const size_t begin = std::max(idle_runs_[run].first, range.first);
    const size_t end = std::min(idle_runs_[run].first + idle_runs_[run].length, range.last);
    if (begin >= end) continue;
    const bool at_an_end = begin == first || end == range.last;
    if (!at_an_end && end - begin <= idle_max) continue;
    if (enough(first, begin)) return true;
    first = end;
  }
  return enough(first, range.last);
}

}  // namespace eroica
