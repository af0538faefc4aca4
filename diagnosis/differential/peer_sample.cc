#include "diagnosis/differential/peer_sample.h"

#include <algorithm>
#include <limits>

#include "diagnosis/differential/screen_kernel.h"
#include "schemas/check.h"

namespace eroica {
namespace {

constexpr size_t kVectorFloats = 16;  // the widest vector

// Narrower than the distance, so that a rank inside a box is near to all of it.
constexpr float kBoxWidth = 0.8f;

PatternBox BoundsOf(std::span<const PatternPoint> points) {
  if (points.empty()) return {};
  PatternBox bounds{points.front(), points.front()};
  for (const PatternPoint& point : points) bounds = bounds.Extended(point);
  return bounds;
}

using BlockFunction = int32_t (*)(const PeerSample&, const PatternColumns&, const PatternBox&,
                                  size_t, BlockScratch&);

int32_t PortableBlock(const PeerSample& sample, const PatternColumns& columns,
                      const PatternBox& usual, size_t rows, BlockScratch& scratch) {
  return ScreenKernel::Block<16>(sample, columns, usual, rows, scratch);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] int32_t Avx2Block(const PeerSample& sample, const PatternColumns& columns,
                                          const PatternBox& usual, size_t rows,
                                          BlockScratch& scratch) {
  return ScreenKernel::Block<32>(sample, columns, usual, rows, scratch);
}

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] int32_t Avx512Block(
    const PeerSample& sample, const PatternColumns& columns, const PatternBox& usual, size_t rows,
    BlockScratch& scratch) {
  return ScreenKernel::Block<64>(sample, columns, usual, rows, scratch);
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

void AppendBlock(const BlockScratch& scratch, size_t first, size_t rows, bool any_unusual,
                 RowScreen* screen) {
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

PeerSample::PeerSample(std::span<const PatternPoint> points, const PatternPoint& scale,
                       float distance)
    : PeerSample(points, BoundsOf(points), scale, distance) {}

PeerSample::PeerSample(std::span<const PatternPoint> points, const PatternBox& bounds,
                       const PatternPoint& scale, float distance)
    : size_(points.size()), scale_(scale), distance_(distance), coarse_(points, bounds, distance) {
  EROICA_CHECK(points.size() <= kMaxPoints);
  EROICA_CHECK(distance > 0);
  std::vector<uint8_t> box(points.size(), 0);
  if (!points.empty() && bounds.Width() <= kBoxWidth * distance) {
    // a tight cloud
    boxes_.push_back({.bounds = bounds, .points = static_cast<uint32_t>(points.size())});
  } else {
    for (size_t i = 0; i < points.size(); ++i) box[i] = AddToBoxes(points[i], kBoxWidth * distance);
  }
  LayOut(points, box);
}

uint8_t PeerSample::AddToBoxes(const PatternPoint& point, float max_width) {
  auto box = std::find_if(boxes_.begin(), boxes_.end(), [&](const Box& b) {
    return b.bounds.Extended(point).Width() <= max_width;
  });
  if (box == boxes_.end()) {
    if (boxes_.size() < kMaxBoxes) boxes_.push_back({.bounds = {point, point}});
    box = boxes_.end() - 1;  // the last box takes what fits nowhere, however wide it gets
  }
  box->bounds = box->bounds.Extended(point);
  ++box->points;
  return static_cast<uint8_t>(box - boxes_.begin());
}

void PeerSample::LayOut(std::span<const PatternPoint> points, std::span<const uint8_t> box) {
  size_t end = 0;
  std::array<size_t, kMaxBoxes> next{};
  for (size_t b = 0; b < boxes_.size(); ++b) {
    boxes_[b].begin = next[b] = end;
    end += (boxes_[b].points + kVectorFloats - 1) / kVectorFloats * kVectorFloats;
    boxes_[b].end = end;
  }
  for (auto& values : values_) values.assign(end, std::numeric_limits<float>::quiet_NaN());
  for (size_t i = 0; i < points.size(); ++i) {
    const size_t j = next[box[i]]++;
    for (size_t d = 0; d < kPatternDimensions; ++d) values_[d][j] = points[i][d];
  }
}

void PeerSample::Screen(const PatternColumns& columns, size_t rows, const PatternBox& usual,
                        RowScreen* screen, InstructionSet instructions) const {
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
