// What a healthy connection reaches, from the speeds of connections that should be equally fast.
// Pure.
#pragma once

#include <cstddef>
#include <span>

namespace eroica {

struct HealthySpeed {
  double speed = 0;  // median of the healthy ones
  // median absolute deviation of the logarithms of their speeds; with few of them not less than
  // kFewSpread
  double spread = 0;
};

// Of fewer speeds an estimated spread is worth little. Busy times of real TCP connections that
// carry the same differ by 2 to 4 % (torch-parallel/net_healthy_4r).
inline constexpr size_t kFewSpeeds = 8;
inline constexpr double kFewSpread = 0.05;
// How many spreads below the median of n speeds are beyond noise: in at most one of a thousand
// windows noise makes one of the n speeds lie as low (Chernoff's bound for normal logarithms). It
// is 6 for four speeds, 8.4 for ten thousand. Two groups lie apart where the step from the one to
// the other is that many times the spread within either.
double SpreadsBeyondNoise(size_t speeds);
// And where speeds differ by that, which is what counts as slow at all.
inline constexpr double kSlowShare = 0.8;

// Of all speeds, or of the faster of two groups that lie clearly apart, if it is a quarter of all
// and two at least. speeds: positive; they are sorted.
HealthySpeed FindHealthySpeed(std::span<double> speeds);

}  // namespace eroica
