// The median of everybody else: what a rank is compared with, so that in a role of two the one is
// measured by the other and not by their mean.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "diagnosis/statistics/around_middle.h"

namespace eroica {

// Of n values, made in O(n). Leaving out any one of them leaves one of three medians, decided by
// the side of the middle that it lies on.
class PeerMedian {
 public:
  PeerMedian() = default;  // of nothing
  // Of fewer than two there are no peers.
  explicit PeerMedian(std::span<const double> values) : count_(values.size()) {
    if (count_ < 2) return;
    const AroundMiddle<double> around(values);
    const auto first = around.values().begin();
    const auto at = first + around.middle();
    std::nth_element(first, at, around.values().end());
    middle_ = *at;
    const double below = *std::max_element(first, at);
    const double above =
        count_ % 2 == 0 ? middle_ : *std::min_element(at + 1, around.values().end());
    without_ = {(middle_ + above) / 2, count_ % 2 == 0 ? below : (below + above) / 2,
                count_ % 2 == 0 ? below : (below + middle_) / 2};
  }

  bool has_peers() const { return count_ >= 2; }
  // Of the others of `own`, which is one of the values. Requires has_peers().
  double Without(double own) const {
    // Looked up, not branched for: nobody foresees on which side of the middle a value lies.
    return without_[1 + static_cast<size_t>(own > middle_) - static_cast<size_t>(own < middle_)];
  }
  double Over(double own) const { return own - Without(own); }

 private:
  size_t count_ = 0;
  double middle_ = 0;
  std::array<double, 3> without_{};  // one below the middle, the middle, one above
};

}  // namespace eroica
