// Division by a number that is the same for a whole column and leaves no remainder: one
// multiplication in place of a division (Granlund and Montgomery).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace eroica {

class ExactDivision {
 public:
  // divisor > 0.
  explicit constexpr ExactDivision(uint32_t divisor)
      : shift_(std::countr_zero(divisor)),
        inverse_(Inverse(divisor >> shift_)),
        quotient_max_(std::numeric_limits<uint64_t>::max() / divisor) {}

  // value / divisor where that leaves no remainder; any other value is remembered and clears
  // exact().
  constexpr uint64_t operator()(uint64_t value) {
    const uint64_t quotient = std::rotr(value * inverse_, shift_);
    remainder_ |= quotient > quotient_max_;
    return quotient;
  }
  constexpr bool exact() const { return !remainder_; }

 private:
  // Modulo 2^64, by Newton: each round doubles the number of correct low bits, from 3.
  static constexpr uint64_t Inverse(uint64_t odd) {
    uint64_t inverse = odd;
    for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
    return inverse;
  }

  int shift_;
  uint64_t inverse_;
  uint64_t quotient_max_;
  bool remainder_ = false;
};

}  // namespace eroica
