// The median of everybody else: what a rank is compared with, so that in a role of two the one is measured by the other and not by their
// mean.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "diagnosis/around_middle.h"

namespace eroica {

// Of n values, made in O(n). Leaving out any one of them leaves one of three medians, decided by the side of the middle that it lies on.
class PeerMedian {
 public:
  // May reorder the values. Of fewer than two there are no peers.
  explicit PeerMedian(std::span<double> values) : count_(values.size()) {
    if (count_ < 2) return;
    const AroundMiddle<double> around(values);
    const auto first = around.values().begin();
    const auto at = first + around.middle();
    std::nth_element(first, at, around.values().end());
    middle_ = *at;
    below_ = *std::max_element(first, at);
    above_ = count_ % 2 == 0 ? middle_ : *std::min_element(at + 1, around.values().end());
  }

  bool has_peers() const { return count_ >= 2; }
  // Of the others of `own`, which is one of the values. Requires has_peers().
  double Without(double own) const {
    if (count_ % 2 == 0) return own < middle_ ? middle_ : below_;
    if (own < middle_) return (middle_ + above_) / 2;
    if (own > middle_) return (below_ + middle_) / 2;
    return (below_ + above_) / 2;
  }

 private:
  size_t count_;
  double below_ = 0;  // order statistics around the middle
  double middle_ = 0;
  double above_ = 0;
};

}  // namespace eroica
