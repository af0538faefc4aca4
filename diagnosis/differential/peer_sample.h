// The shared peers of one role and function, and the question that the differential distance asks
// of them for every rank: how many are far away?
//
// Ranks of a healthy role lie in a tight cloud, so the sample is covered by few boxes that are
// narrower than the distance asked for. A box that lies wholly near or wholly far settles all its
// points at once; only the points of an undecided box are looked at one by one, and where most
// ranks have one, all points in 16-bit steps first. The answer is exactly that of comparing all
// pairs in single precision, on every machine (AVX-512, AVX2 or neither; products and sums are
// never fused).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/differential/coarse_points.h"
#include "diagnosis/differential/instruction_set.h"
#include "diagnosis/differential/pattern_box.h"

namespace eroica {

// What one pass over the rows of a role finds.
struct RowScreen {
  std::vector<uint16_t> distant;    // per row: sample points at Manhattan distance >= the sample's
  std::vector<uint64_t> histogram;  // how many rows have 0, 1, ... size() distant points
  std::vector<uint32_t> unusual;    // rows outside the usual box, ascending
};

class PeerSample {
 public:
  static constexpr size_t kMaxPoints = 4'096;
  static constexpr size_t kMaxBoxes = 8;

  // Points are given as they are compared: multiplied by `scale`. At most kMaxPoints. `distance` >
  // 0.
  PeerSample(std::span<const PatternPoint> points, const PatternPoint& scale, float distance);

  size_t size() const { return size_; }
  size_t box_count() const { return boxes_.size(); }

  // Row values are multiplied by `scale` before they are compared with the points. `usual` bounds
  // the unscaled values.
  void Screen(const PatternColumns& columns, size_t rows, const PatternBox& usual,
              RowScreen* screen, InstructionSet instructions = BestInstructionSet()) const;

 private:
  struct Box {
    PatternBox bounds;
    uint32_t points = 0;
    size_t begin = 0;  // in values_
    size_t end = 0;
  };
  friend struct ScreenKernel;

  PeerSample(std::span<const PatternPoint> points, const PatternBox& bounds,
             const PatternPoint& scale, float distance);
  uint8_t AddToBoxes(const PatternPoint& point, float max_width);
  void LayOut(std::span<const PatternPoint> points, std::span<const uint8_t> box);

  size_t size_;
  PatternPoint scale_;
  float distance_;
  std::vector<Box> boxes_;
  // box by box, each padded with NaN, which is never far, to whole vectors
  std::array<std::vector<float>, kPatternDimensions> values_;
  CoarsePoints coarse_;
};

}  // namespace eroica
