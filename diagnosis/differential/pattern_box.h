// A pattern as a point of beta, mu and sigma, and boxes of such points.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace eroica {

// beta, mu, sigma.
inline constexpr size_t kPatternDimensions = 3;
using PatternPoint = std::array<float, kPatternDimensions>;

// Equally long columns of beta, mu and sigma.
using PatternColumns = std::array<const float*, kPatternDimensions>;

struct PatternBox {
  PatternPoint low{};
  PatternPoint high{};

  // Manhattan distance of two opposite corners.
  float Width() const {
    float width = 0;
    for (size_t d = 0; d < kPatternDimensions; ++d) width += high[d] - low[d];
    return width;
  }

  PatternBox Extended(const PatternPoint& point) const {
    PatternBox box = *this;
    for (size_t d = 0; d < kPatternDimensions; ++d) {
      box.low[d] = std::min(low[d], point[d]);
      box.high[d] = std::max(high[d], point[d]);
    }
    return box;
  }
};

}  // namespace eroica
