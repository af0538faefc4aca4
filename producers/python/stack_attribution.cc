#include "producers/python/stack_attribution.h"

#include <algorithm>

namespace eroica {
namespace {

constexpr int64_t kLongestPieceNs = 100'000'000;
// A thread that comes back after minutes in one call is told in so many pieces at most.
constexpr int64_t kMostPieces = 256;

}  // namespace

void StackAttribution::EmitOpen(int64_t end_ns) {
  const int64_t piece_ns = std::max(kLongestPieceNs, (end_ns - start_ns_) / kMostPieces);
  while (start_ns_ < end_ns) {
    const int64_t until_ns = std::min(end_ns, start_ns_ + piece_ns);
    emit_(start_ns_, until_ns, leaf_);
    start_ns_ = until_ns;
  }
}

void StackAttribution::Sample(int64_t requested_ns, int64_t taken_ns, uint32_t leaf,
                              int64_t boundary_ns) {
  if (!open_) {
    start_ns_ = std::min(std::max(requested_ns, boundary_ns), taken_ns);
  } else {
    requested_ns = std::max(requested_ns, taken_ns_);
    taken_ns = std::max(taken_ns, requested_ns);
    const bool passed = boundary_ns >= taken_ns_ && boundary_ns <= taken_ns;
    const int64_t middle_ns = taken_ns_ + (requested_ns - taken_ns_) / 2;
    if (interrupted_ && passed) start_ns_ = boundary_ns;
    if (leaf != leaf_) EmitOpen(passed ? boundary_ns : middle_ns);
  }
  open_ = true;
  interrupted_ = false;
  leaf_ = leaf;
  taken_ns_ = taken_ns;
  if (taken_ns_ - start_ns_ >= kLongestPieceNs) EmitOpen(taken_ns_);
}

void StackAttribution::Interrupt(int64_t boundary_ns) {
  if (!open_) return;
  taken_ns_ = std::max(taken_ns_, boundary_ns);
  EmitOpen(taken_ns_);
  interrupted_ = true;
}

void StackAttribution::Finish() {
  if (open_) EmitOpen(taken_ns_);
  open_ = interrupted_ = false;
}

}  // namespace eroica
