#include "stream_ops/pattern/interval_order.h"

#include <algorithm>
#include <tuple>

namespace eroica {
namespace {

struct Before {
  std::span<const FunctionTraits> functions;

  bool operator()(const Interval& a, const Interval& b) const {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
    if (a.function != b.function) {
      const FunctionTraits& f = functions[a.function];
      const FunctionTraits& g = functions[b.function];
      return std::tie(f.depth, f.id) < std::tie(g.depth, g.id);
    }
    return false;
  }
};

}  // namespace

void IntervalSorter::Sort(std::span<const FunctionTraits> functions,
                          std::vector<Interval>& intervals) {
  const Before before{functions};
  bounds_.assign(1, 0);
  for (size_t i = 1; i < intervals.size(); ++i) {
    const Interval& last = intervals[i - 1];
    if (last.start_ns < intervals[i].start_ns) continue;
    if (before(intervals[i], last)) bounds_.push_back(i);
  }
  bounds_.push_back(intervals.size());
  while (bounds_.size() > 2) MergeRuns(functions, intervals);
}

// One round: runs 0 and 1, 2 and 3 ... become one each.
void IntervalSorter::MergeRuns(std::span<const FunctionTraits> functions,
                               std::vector<Interval>& intervals) {
  const Before before{functions};
  const auto at = [&](size_t i) { return intervals.begin() + static_cast<ptrdiff_t>(i); };
  size_t kept = 1;
  for (size_t i = 0; i + 2 < bounds_.size(); i += 2) {
    const size_t middle = bounds_[i + 1];
    const size_t end = bounds_[i + 2];
    const auto first = std::upper_bound(at(bounds_[i]), at(middle), intervals[middle], before);
    const auto last = std::lower_bound(at(middle), at(end), intervals[middle - 1], before);
    left_.assign(first, at(middle));
    // The place to write stays behind the right run's next by what is left of left_.
    auto out = first;
    auto right = at(middle);
    auto left = left_.begin();
    while (left != left_.end() && right != last)
      *out++ = before(*right, *left) ? *right++ : *left++;
    std::copy(left, left_.end(), out);
    bounds_[kept++] = end;
  }
  if (bounds_.size() % 2 == 0) bounds_[kept++] = bounds_.back();  // an odd run out
  bounds_.resize(kept);
}

}  // namespace eroica
