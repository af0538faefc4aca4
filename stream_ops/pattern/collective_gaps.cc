#include "stream_ops/pattern/collective_gaps.h"

#include <algorithm>

namespace eroica {

void CollectiveGaps::Start(int64_t window_start_ns) {
  collectives_.clear();
  gaps_.clear();
  shares_.clear();
  last_end_ns_ = window_start_ns;
  position_ = 0;
}

void CollectiveGaps::AddCollective(uint32_t ticket, int64_t begin_ns, int64_t end_ns) {
  CollectiveExposure& collective = collectives_.emplace_back();
  collective.ticket = ticket;
  if (begin_ns > last_end_ns_) {
    collective.gap_ns = begin_ns - last_end_ns_;
    gaps_.push_back({last_end_ns_, begin_ns, static_cast<uint32_t>(collectives_.size() - 1)});
  }
  last_end_ns_ = std::max(last_end_ns_, end_ns);
}

void CollectiveGaps::AddAcross(uint32_t function, int64_t begin_ns, int64_t end_ns,
                               const CriticalClock& clock) {
  auto gap = std::upper_bound(gaps_.begin(), gaps_.end(), begin_ns,
                              [](int64_t t, const Gap& g) { return t < g.end_ns; });
  for (; gap != gaps_.end() && gap->begin_ns < end_ns && !full(); ++gap) {
    const int64_t from = std::max(begin_ns, gap->begin_ns);
    const int64_t to = std::min(end_ns, gap->end_ns);
    const int64_t critical_ns = clock.undisturbed() ? to - from : clock.At(to) - clock.At(from);
    position_ = static_cast<size_t>(gap - gaps_.begin());
    if (critical_ns > 0) Note(position_, function, critical_ns);
  }
}

void CollectiveGaps::Finish(std::span<const FunctionTraits> functions) {
  first_share_.assign(gaps_.size() + 1, 0);
  for (const Share& share : shares_) ++first_share_[share.gap + 1];
  for (size_t i = 1; i < first_share_.size(); ++i) first_share_[i] += first_share_[i - 1];
  ordered_.resize(shares_.size());
  for (const Share& share : shares_)
    ordered_[first_share_[share.gap]++] = share;  // afterwards first_share_[i] is where gap i ends

  sum_.resize(std::max(sum_.size(), functions.size()), 0);
  size_t begin = 0;
  for (size_t i = 0; i < gaps_.size(); ++i) {
    touched_.clear();
    for (; begin < first_share_[i]; ++begin) {
      const Share& share = ordered_[begin];
      if (sum_[share.function] == 0) touched_.push_back(share.function);
      sum_[share.function] += share.critical_ns;
    }
    CollectiveExposure& collective = collectives_[gaps_[i].collective];
    for (uint32_t function : touched_) {
      const int64_t sum = sum_[function];
      const bool longer =
          sum > collective.before_ns ||
          (sum == collective.before_ns && functions[function].id < functions[collective.before].id);
      if (longer) {
        collective.before = function;
        collective.before_ns = sum;
      }
      sum_[function] = 0;
    }
  }
}

}  // namespace eroica
