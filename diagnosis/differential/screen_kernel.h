// The inner loops of PeerSample::Screen. Always inlined into one function for each instruction set,
// so that the compiler vectorizes them for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "diagnosis/differential/coarse_points.h"
#include "diagnosis/differential/peer_sample.h"

namespace eroica {

inline constexpr size_t kBlockRows = 512;  // scratch of a block stays in the first-level cache
inline constexpr size_t kGroupRows = 32;   // 16-bit numbers in the widest vector
// of a group: below, it is cheaper to look at each row alone
inline constexpr size_t kFewOpenRows = 10;

// Where the boxes settled nothing in one block, they are not asked in so many that follow.
inline constexpr uint32_t kBlocksWithoutBoxes = 15;

// Bounds of distances are compared with this much room, far beyond their rounding, so that a box
// never settles what a pair would see otherwise.
inline constexpr float kRounding = 1e-5f;

struct BlockScratch {
  uint32_t without_boxes = 0;  // so many blocks
  alignas(64) std::array<std::array<float, kBlockRows>, kPatternDimensions> scaled{};
  alignas(64) std::array<int32_t, kBlockRows> distant{};
  alignas(64) std::array<int32_t, kBlockRows> undecided{};  // bit b: box b
  alignas(64) std::array<int32_t, kBlockRows> unusual{};
  // Of one group:
  alignas(64) std::array<std::array<int16_t, kGroupRows>, kPatternDimensions> coarse{};
  alignas(64) std::array<int16_t, kGroupRows> coarse_near{};  // minus the number of near points
  // of the points that are not surely near, the least excess
  alignas(64) std::array<uint16_t, kGroupRows> coarse_beyond{};
};

struct ScreenKernel {
  [[gnu::always_inline]] static inline void Scale(const PatternColumns& columns,
                                                  const PatternPoint& scale, size_t rows,
                                                  BlockScratch& s) {
    for (size_t d = 0; d < kPatternDimensions; ++d) {
      const float* column = columns[d];
      float* scaled = s.scaled[d].data();
      for (size_t i = 0; i < rows; ++i) scaled[i] = column[i] * scale[d];
    }
  }

  [[gnu::always_inline]] static inline int32_t FindUnusual(const PatternColumns& columns,
                                                           const PatternBox& usual, size_t rows,
                                                           BlockScratch& s) {
    const PatternPoint low = usual.low;
    const PatternPoint high = usual.high;
    int32_t any = 0;
    for (size_t i = 0; i < rows; ++i) {
      int32_t outside = 0;
      for (size_t d = 0; d < kPatternDimensions; ++d) {
        outside |= columns[d][i] < low[d] ? 1 : 0;
        outside |= columns[d][i] > high[d] ? 1 : 0;
      }
      s.unusual[i] = outside;
      any |= outside;
    }
    return any;
  }

  // Settles the box for the rows that are wholly near or wholly far; returns whether some are not.
  [[gnu::always_inline]] static inline int32_t SettleBox(const PeerSample::Box& box, int32_t bit,
                                                         float distance, size_t rows,
                                                         BlockScratch& s) {
    const PatternPoint low = box.bounds.low;
    const PatternPoint high = box.bounds.high;
    const auto points = static_cast<int32_t>(box.points);
    const float surely_near = distance - kRounding;
    const float surely_far = distance + kRounding;
    int32_t any = 0;
    for (size_t i = 0; i < rows; ++i) {
      float nearest = 0;
      float farthest = 0;
      for (size_t d = 0; d < kPatternDimensions; ++d) {
        const float below = low[d] - s.scaled[d][i];
        const float above = s.scaled[d][i] - high[d];
        const float outside = below > above ? below : above;
        nearest += outside > 0 ? outside : 0;
        const float to_high = high[d] - s.scaled[d][i];
        const float to_low = s.scaled[d][i] - low[d];
        farthest += to_high > to_low ? to_high : to_low;
      }
      const int32_t far = nearest >= surely_far ? 1 : 0;
      const int32_t near = farthest < surely_near ? 1 : 0;
      const int32_t undecided = 1 - (far | near);
      s.distant[i] += far * points;
      s.undecided[i] |= undecided * bit;
      any |= undecided;
    }
    return any;
  }

  // Far points among those from `begin` to `end`, for one row.
  [[gnu::always_inline]] static inline int32_t CountPoints(const PeerSample& sample, size_t begin,
                                                           size_t end, float x, float y, float z) {
    const float* px = sample.values_[0].data();
    const float* py = sample.values_[1].data();
    const float* pz = sample.values_[2].data();
    const float distance = sample.distance_;
    int32_t count = 0;
    for (size_t j = begin; j < end; ++j) {
      const float dx = x - px[j];
      const float dy = y - py[j];
      const float dz = z - pz[j];
      const float sum = (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy) + (dz < 0 ? -dz : dz);
      count += sum >= distance ? 1 : 0;
    }
    return count;
  }

  // Row by row, the points of the boxes that are open for the row.
  [[gnu::always_inline]] static inline void CountOpenRows(const PeerSample& sample, size_t first,
                                                          BlockScratch& s) {
    for (size_t i = first; i < first + kGroupRows; ++i) {
      for (auto left = static_cast<uint32_t>(s.undecided[i]); left != 0; left &= left - 1) {
        const PeerSample::Box& box = sample.boxes_[static_cast<size_t>(__builtin_ctz(left))];
        s.distant[i] +=
            CountPoints(sample, box.begin, box.end, s.scaled[0][i], s.scaled[1][i], s.scaled[2][i]);
      }
    }
  }

  // The rows of a group in 16-bit steps; rows beyond the reach of the points stay far from all of
  // them.
  [[gnu::always_inline]] static inline void Coarsen(const CoarsePoints& points, size_t first,
                                                    BlockScratch& s) {
    for (size_t d = 0; d < kPatternDimensions; ++d) {
      const float low = points.reach.low[d];
      const float high = points.reach.high[d];
      const float steps = points.steps;
      for (size_t i = 0; i < kGroupRows; ++i) {
        const float at_least = s.scaled[d][first + i] > low ? s.scaled[d][first + i] : low;
        const float inside = at_least < high ? at_least : high;
        s.coarse[d][i] = static_cast<int16_t>((inside - low) * steps);
      }
    }
  }

  // One vector of rows against all points: how many are nearer, and the distance of the one that is
  // nearest to being undecided.
  template <size_t kVectorBytes>
  [[gnu::always_inline]] static inline void CountVector(const CoarsePoints& points, size_t first,
                                                        BlockScratch& s) {
    using Steps [[gnu::vector_size(kVectorBytes)]] = int16_t;
    using Unsigned [[gnu::vector_size(kVectorBytes)]] = uint16_t;
    Steps x;
    Steps y;
    Steps z;
    std::memcpy(&x, &s.coarse[0][first], sizeof x);
    std::memcpy(&y, &s.coarse[1][first], sizeof y);
    std::memcpy(&z, &s.coarse[2][first], sizeof z);
    Steps near{};
    Unsigned beyond = ~Unsigned{};
    for (size_t j = 0; j < points.values[0].size(); ++j) {
      const Steps dx = x - points.values[0][j];
      const Steps dy = y - points.values[1][j];
      const Steps dz = z - points.values[2][j];
      const Steps excess =
          (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy) + (dz < 0 ? -dz : dz) - points.surely_near;
      near += excess >>
              15;  // -1 for each point that is nearer; as unsigned numbers, these are the largest
      const Unsigned unsigned_excess = reinterpret_cast<Unsigned>(excess);
      beyond = beyond < unsigned_excess ? beyond : unsigned_excess;
    }
    std::memcpy(&s.coarse_near[first], &near, sizeof near);
    std::memcpy(&s.coarse_beyond[first], &beyond, sizeof beyond);
  }

  // All points in 16-bit steps, for a group of rows at once: where many rows are open. Where one is
  // too close to call, in floats.
  template <size_t kVectorBytes>
  [[gnu::always_inline]] static inline void CountGroup(const PeerSample& sample, size_t first,
                                                       BlockScratch& s) {
    const CoarsePoints& points = sample.coarse_;
    Coarsen(points, first, s);
    for (size_t i = 0; i < kGroupRows; i += kVectorBytes / sizeof(int16_t))
      CountVector<kVectorBytes>(points, i, s);
    const auto size = static_cast<int32_t>(sample.size_);
    for (size_t i = 0; i < kGroupRows; ++i) s.distant[first + i] = size + s.coarse_near[i];
    for (size_t i = 0; i < kGroupRows; ++i) {
      if (s.coarse_beyond[i] >= points.undecided) continue;
      const size_t row = first + i;
      s.distant[row] = CountPoints(sample, 0, sample.values_[0].size(), s.scaled[0][row],
                                   s.scaled[1][row], s.scaled[2][row]);
    }
  }

  // Returns whether a row is outside the usual box.
  template <size_t kVectorBytes>
  [[gnu::always_inline]] static inline int32_t Block(const PeerSample& sample,
                                                     const PatternColumns& columns,
                                                     const PatternBox& usual, size_t rows,
                                                     BlockScratch& s) {
    Scale(columns, sample.scale_, rows, s);
    const int32_t unusual = FindUnusual(columns, usual, rows, s);
    if (s.without_boxes > 0) {
      --s.without_boxes;
      for (size_t first = 0; first < rows; first += kGroupRows)
        CountGroup<kVectorBytes>(sample, first, s);
      return unusual;
    }
    s.distant.fill(0);
    s.undecided.fill(0);  // of the rows beyond the last, too: they are never open
    int32_t undecided = 0;
    for (size_t b = 0; b < sample.boxes_.size(); ++b) {
      undecided |= SettleBox(sample.boxes_[b], int32_t{1} << b, sample.distance_, rows, s);
    }
    if (undecided == 0) return unusual;
    bool all_open = true;
    for (size_t first = 0; first < rows; first += kGroupRows) {
      size_t open = 0;
      for (size_t i = first; i < first + kGroupRows; ++i) open += s.undecided[i] != 0 ? 1 : 0;
      if (open > kFewOpenRows) {
        CountGroup<kVectorBytes>(sample, first, s);
      } else {
        all_open = false;
        if (open > 0) CountOpenRows(sample, first, s);
      }
    }
    s.without_boxes = all_open ? kBlocksWithoutBoxes : 0;
    return unusual;
  }
};

}  // namespace eroica
