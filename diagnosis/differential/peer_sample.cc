#include "diagnosis/differential/peer_sample.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "schemas/check.h"

namespace eroica {
namespace {

constexpr size_t kBlockRows = 512;   // scratch of a block stays in the first-level cache
constexpr size_t kVectorFloats = 16;  // the widest vector
constexpr size_t kFewOpenRows = 6;    // of a vector of rows: below, it is cheaper to look at each row alone

// Bounds of distances are compared with this much room, far beyond their rounding, so that a box never settles what a pair would see otherwise.
constexpr float kRounding = 1e-5f;

// Narrower than the distance, so that a rank inside a box is near to all of it.
constexpr float kBoxWidth = 0.8f;

using FloatVector [[gnu::vector_size(kVectorFloats * sizeof(float))]] = float;
using IntVector [[gnu::vector_size(kVectorFloats * sizeof(int32_t))]] = int32_t;

float Width(const PatternBox& box) {
  float width = 0;
  for (size_t d = 0; d < kPatternDimensions; ++d) width += box.high[d] - box.low[d];
  return width;
}

PatternBox Extended(PatternBox box, const PatternPoint& point) {
  for (size_t d = 0; d < kPatternDimensions; ++d) {
    box.low[d] = std::min(box.low[d], point[d]);
    box.high[d] = std::max(box.high[d], point[d]);
  }
  return box;
}

struct BlockScratch {
  alignas(64) std::array<std::array<float, kBlockRows>, kPatternDimensions> scaled{};
  alignas(64) std::array<int32_t, kBlockRows> distant{};
  alignas(64) std::array<int32_t, kBlockRows> undecided{};  // bit b: box b
  alignas(64) std::array<int32_t, kBlockRows> unusual{};
};

}  // namespace

// The inner loops. Always inlined into one function for each instruction set, so that the compiler vectorizes them for it.
struct ScreenKernel {
  [[gnu::always_inline]] static inline void Scale(const PatternColumns& columns, const PatternPoint& scale, size_t rows, BlockScratch& s) {
    for (size_t d = 0; d < kPatternDimensions; ++d) {
      const float* column = columns[d];
      float* scaled = s.scaled[d].data();
      for (size_t i = 0; i < rows; ++i) scaled[i] = column[i] * scale[d];
    }
  }

  [[gnu::always_inline]] static inline int32_t FindUnusual(const PatternColumns& columns, const PatternBox& usual, size_t rows, BlockScratch& s) {
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
  [[gnu::always_inline]] static inline int32_t SettleBox(const PeerSample::Box& box, int32_t bit, float distance, size_t rows, BlockScratch& s) {
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

  [[gnu::always_inline]] static inline int32_t CountInBox(const PeerSample::Box& box, float distance, float x, float y, float z) {
    const float* px = box.values[0].data();
    const float* py = box.values[1].data();
    const float* pz = box.values[2].data();
    const size_t padded = box.values[0].size();
    int32_t count = 0;
    for (size_t j = 0; j < padded; ++j) {
      const float dx = x - px[j];
      const float dy = y - py[j];
      const float dz = z - pz[j];
      const float sum = (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy) + (dz < 0 ? -dz : dz);
      count += sum >= distance ? 1 : 0;
    }
    return count;
  }

  // Row by row, the points of the boxes that are open for the row.
  [[gnu::always_inline]] static inline void CountOpenRows(const PeerSample& sample, size_t first, BlockScratch& s) {
    for (size_t i = first; i < first + kVectorFloats; ++i) {
      for (auto left = static_cast<uint32_t>(s.undecided[i]); left != 0; left &= left - 1) {
        const PeerSample::Box& box = sample.boxes_[static_cast<size_t>(__builtin_ctz(left))];
        s.distant[i] += CountInBox(box, sample.distance_, s.scaled[0][i], s.scaled[1][i], s.scaled[2][i]);
      }
    }
  }

  // All points, for a vector of rows at once: where most rows are open.
  [[gnu::always_inline]] static inline void CountPairs(const PeerSample& sample, size_t first, BlockScratch& s) {
    FloatVector x;
    FloatVector y;
    FloatVector z;
    std::memcpy(&x, &s.scaled[0][first], sizeof x);
    std::memcpy(&y, &s.scaled[1][first], sizeof y);
    std::memcpy(&z, &s.scaled[2][first], sizeof z);
    IntVector count{};
    for (const PeerSample::Box& box : sample.boxes_) {
      for (size_t j = 0; j < box.points; ++j) {
        const FloatVector dx = x - box.values[0][j];
        const FloatVector dy = y - box.values[1][j];
        const FloatVector dz = z - box.values[2][j];
        const FloatVector sum = (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy) + (dz < 0 ? -dz : dz);
        count -= sum >= sample.distance_;
      }
    }
    std::memcpy(&s.distant[first], &count, sizeof count);
  }

  [[gnu::always_inline]] static inline int32_t Block(const PeerSample& sample, const PatternColumns& columns, const PatternBox& usual, size_t rows,
                                                     BlockScratch& s) {
    Scale(columns, sample.scale_, rows, s);
    const int32_t unusual = FindUnusual(columns, usual, rows, s);
    s.distant.fill(0);
    s.undecided.fill(0);  // of the rows beyond the last, too: they are never open
    int32_t undecided = 0;
    for (size_t b = 0; b < sample.boxes_.size(); ++b) {
      undecided |= SettleBox(sample.boxes_[b], int32_t{1} << b, sample.distance_, rows, s);
    }
    if (undecided == 0) return unusual;
    for (size_t first = 0; first < rows; first += kVectorFloats) {
      size_t open = 0;
      for (size_t i = first; i < first + kVectorFloats; ++i) open += s.undecided[i] != 0 ? 1 : 0;
      if (open > kFewOpenRows) {
        CountPairs(sample, first, s);
      } else if (open > 0) {
        CountOpenRows(sample, first, s);
      }
    }
    return unusual;
  }
};

namespace {

using BlockFunction = int32_t (*)(const PeerSample&, const PatternColumns&, const PatternBox&, size_t, BlockScratch&);

int32_t PortableBlock(const PeerSample& sample, const PatternColumns& columns, const PatternBox& usual, size_t rows, BlockScratch& scratch) {
  return ScreenKernel::Block(sample, columns, usual, rows, scratch);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] int32_t Avx2Block(const PeerSample& sample, const PatternColumns& columns, const PatternBox& usual, size_t rows,
                                          BlockScratch& scratch) {
  return ScreenKernel::Block(sample, columns, usual, rows, scratch);
}

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] int32_t Avx512Block(const PeerSample& sample, const PatternColumns& columns,
                                                                          const PatternBox& usual, size_t rows, BlockScratch& scratch) {
  return ScreenKernel::Block(sample, columns, usual, rows, scratch);
}
#endif

BlockFunction BlockFunctionFor(InstructionSet instructions) {
  switch (instructions) {
#if defined(__x86_64__)
    case InstructionSet::kAvx512: return Avx512Block;
    case InstructionSet::kAvx2: return Avx2Block;
#endif
    default: return PortableBlock;
  }
}

void AppendBlock(const BlockScratch& scratch, size_t first, size_t rows, bool any_unusual, RowScreen* screen) {
  uint16_t* distant = screen->distant.data() + first;
  int32_t all_equal = 1;
  for (size_t i = 0; i < rows; ++i) {
    distant[i] = static_cast<uint16_t>(scratch.distant[i]);
    all_equal &= scratch.distant[i] == scratch.distant[0] ? 1 : 0;
  }
  if (all_equal != 0) {
    screen->histogram[distant[0]] += rows;
  } else {
    for (size_t i = 0; i < rows; ++i) ++screen->histogram[distant[i]];
  }
  if (!any_unusual) return;
  for (size_t i = 0; i < rows; ++i) {
    if (scratch.unusual[i] != 0) screen->unusual.push_back(static_cast<uint32_t>(first + i));
  }
}

}  // namespace

InstructionSet BestInstructionSet() {
#if defined(__x86_64__)
  static const InstructionSet best = [] {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      return InstructionSet::kAvx512;
    }
    return __builtin_cpu_supports("avx2") ? InstructionSet::kAvx2 : InstructionSet::kPortable;
  }();
  return best;
#else
  return InstructionSet::kPortable;
#endif
}

PeerSample::PeerSample(std::span<const PatternPoint> points, const PatternPoint& scale, float distance)
    : size_(points.size()), scale_(scale), distance_(distance) {
  EROICA_CHECK(points.size() <= kMaxPoints);
  EROICA_CHECK(distance > 0);
  for (const PatternPoint& point : points) AddToBoxes(point, kBoxWidth * distance);
  for (Box& box : boxes_) {
    const size_t padded = (box.points + kVectorFloats - 1) / kVectorFloats * kVectorFloats;
    for (auto& values : box.values) values.resize(padded, std::numeric_limits<float>::quiet_NaN());
  }
}

void PeerSample::AddToBoxes(const PatternPoint& point, float max_width) {
  auto box = std::find_if(boxes_.begin(), boxes_.end(), [&](const Box& b) { return Width(Extended(b.bounds, point)) <= max_width; });
  if (box == boxes_.end()) {
    if (boxes_.size() < kMaxBoxes) boxes_.push_back({.bounds = {point, point}, .points = 0, .values = {}});
    box = boxes_.end() - 1;  // the last box takes what fits nowhere, however wide it gets
  }
  box->bounds = Extended(box->bounds, point);
  ++box->points;
  for (size_t d = 0; d < kPatternDimensions; ++d) box->values[d].push_back(point[d]);
}

void PeerSample::Screen(const PatternColumns& columns, size_t rows, const PatternBox& usual, RowScreen* screen,
                        InstructionSet instructions) const {
  const BlockFunction block = BlockFunctionFor(instructions);
  screen->distant.resize(rows);
  screen->histogram.assign(size_ + 1, 0);
  screen->unusual.clear();
  BlockScratch scratch;
  for (size_t first = 0; first < rows; first += kBlockRows) {
    const size_t count = std::min(kBlockRows, rows - first);
    const PatternColumns from{columns[0] + first, columns[1] + first, columns[2] + first};
    const int32_t any_unusual = block(*this, from, usual, count, scratch);
    AppendBlock(scratch, first, count, any_unusual != 0, screen);
  }
}

}  // namespace eroica
