// Sample points in 16-bit steps: twice as many to an instruction as in floats. The sum of three
// distances fits into 16 bits, and rounding moves it by a few steps at most, so that only the rare
// distance that lies so close to the limit has to be looked at again, in floats.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/differential/pattern_box.h"

namespace eroica {

struct CoarsePoints {
  CoarsePoints(std::span<const PatternPoint> points, const PatternBox& bounds, float distance);

  PatternBox reach;  // rows are moved into it: what lies beyond is far from all points already
  float steps = 0;   // a distance of 1
  int16_t surely_near = 0;  // smaller distances are below the limit
  // excesses over surely_near, from 0 to below this, may be below the limit or not
  uint16_t undecided = 0;
  std::array<std::vector<int16_t>, kPatternDimensions> values;  // steps from reach.low
};

}  // namespace eroica
