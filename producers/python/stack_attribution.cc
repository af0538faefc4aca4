#include "producers/python/stack_attribution.h"

#include <algorithm>

#include "producers/core/spread_share.h"

namespace eroica {
namespace {

constexpr int64_t kLongestPieceNs = 100'000'000;
// A thread that comes back after minutes in one call is told in so many pieces at most.
constexpr int64_t kMostPieces = 256;
// Shorter parts of a stretch get no interval of their own.
constexpr int64_t kLeastPartNs = 200'000;
constexpr int64_t kLeastPieceNs = 50'000;
constexpr int64_t kLeastWaitNs = 100'000;
constexpr int64_t kMostUnplacedNs = 200'000'000;
constexpr size_t kMostSamples = 64;  // of a stretch
constexpr size_t kMostKinds = 1'024;

// Stretches that begin alike are of one kind.
uint64_t KindOf(const TrainingBoundary& boundary) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;
  const uint64_t of = (static_cast<uint64_t>(boundary.kind) << 32) | boundary.of;
  return of * kOdd + boundary.inside;
}

}  // namespace

void StackAttribution::EmitOpen(int64_t end_ns) {
  const int64_t piece_ns = std::max(kLongestPieceNs, (end_ns - start_ns_) / kMostPieces);
  while (start_ns_ < end_ns) {
    const int64_t until_ns = std::min(end_ns, start_ns_ + piece_ns);
    emit_(start_ns_, until_ns, leaf_);
    start_ns_ = until_ns;
  }
}

void StackAttribution::Add(int64_t begin_ns, int64_t end_ns, uint32_t leaf) {
  if (begin_ns >= end_ns) return;
  // Regions that a script enters thousands of times a step have intervals of their own.
  if (open_ && begin_ns == end_ns_ && end_ns - begin_ns < kLeastPieceNs) leaf = leaf_;
  if (open_ && (leaf != leaf_ || begin_ns != end_ns_)) {
    EmitOpen(end_ns_);
    open_ = false;
  }
  if (!open_) start_ns_ = begin_ns;
  open_ = true;
  leaf_ = leaf;
  end_ns_ = end_ns;
  if (end_ns_ - start_ns_ >= kLongestPieceNs) EmitOpen(end_ns_);
}

void StackAttribution::AddEqually(int64_t begin_ns, int64_t end_ns,
                                  const std::vector<uint32_t>& leaves) {
  const auto count = static_cast<int64_t>(leaves.size());
  const int64_t length_ns = end_ns - begin_ns;
  for (int64_t i = 0; i < count;) {
    const uint32_t leaf = leaves[static_cast<size_t>(i)];
    const int64_t start_ns = begin_ns + length_ns / count * i;
    while (i < count && leaves[static_cast<size_t>(i)] == leaf) ++i;
    Add(start_ns, i == count ? end_ns : begin_ns + length_ns / count * i, leaf);
  }
}

StackAttribution::Parts StackAttribution::PartsOf(int64_t end_ns,
                                                  const std::optional<RunTimes>& times) const {
  if (!times || !stretch_.times) return {};
  const int64_t length_ns = end_ns - stretch_.time_ns;
  const int64_t ran_ns = times->on_processor_ns - stretch_.times->on_processor_ns;
  const int64_t waited_ns = times->runnable_ns - stretch_.times->runnable_ns;
  Parts parts{.waited_ns = std::max<int64_t>(0, waited_ns), .known = true};
  parts.blocked_ns =
      std::clamp<int64_t>(length_ns - std::max<int64_t>(0, ran_ns) - parts.waited_ns, 0, length_ns);
  if (parts.blocked_ns < kLeastPartNs) parts.blocked_ns = 0;
  if (length_ns - parts.blocked_ns < kLeastPartNs && parts.blocked_ns > 0)
    parts.blocked_ns = length_ns;
  return parts;
}

// Of the samples of that state; without one the function that was seen last.
std::vector<uint32_t> StackAttribution::Leaves(bool blocked, Seen* seen) const {
  std::vector<uint32_t> leaves;
  for (const StackSample& sample : samples_) {
    const bool runs = sample.state == ThreadState::kRunning;
    if (sample.state == ThreadState::kUnknown || runs != blocked) leaves.push_back(sample.leaf);
  }
  std::optional<uint32_t>& last = blocked ? seen->blocked : seen->running;
  if (!leaves.empty()) {
    last = leaves.back();
  } else if (last) {
    leaves.push_back(*last);
  }
  return leaves;
}

std::vector<uint32_t> StackAttribution::Tile(int64_t end_ns, const Parts& parts) {
  if (seen_.size() >= kMostKinds) seen_.clear();
  Seen& seen = seen_[KindOf(stretch_)];
  std::vector<uint32_t> running = Leaves(false, &seen);
  std::vector<uint32_t> blocked = Leaves(true, &seen);
  if (running.empty()) running = blocked;
  if (blocked.empty()) blocked = running;
  if (running.empty() && open_) running = blocked = {leaf_};
  const int64_t middle_ns = stretch_.time_ns + parts.blocked_ns;
  if (!parts.known && !samples_.empty()) {
    running.clear();
    for (const StackSample& sample : samples_) running.push_back(sample.leaf);
  }
  AddEqually(stretch_.time_ns, middle_ns, blocked);
  AddEqually(middle_ns, end_ns, running);
  // A function that blocks is seen runnable when it wakes up: few samples show for how long.
  for (uint32_t& leaf : running) {
    if (std::ranges::find(blocked, leaf) != blocked.end() && parts.blocked_ns > 0)
      leaf = EROICA_NO_PARENT;
  }
  return running;
}

void StackAttribution::SpreadWait(int64_t begin_ns, int64_t end_ns,
                                  const std::vector<uint32_t>& functions) {
  if (unplaced_wait_ns_ < kLeastWaitNs || begin_ns >= end_ns) return;
  const int64_t placed_ns = std::min(unplaced_wait_ns_, end_ns - begin_ns);
  SpreadShare(begin_ns, end_ns,
              static_cast<double>(placed_ns) / static_cast<double>(end_ns - begin_ns),
              CellSide::kBegin, emit_wait_);
  unplaced_wait_ns_ = std::min(unplaced_wait_ns_ - placed_ns, kMostUnplacedNs);
  const auto count = static_cast<int64_t>(functions.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t start_ns = begin_ns + (end_ns - begin_ns) / count * i;
    const uint32_t function = functions[static_cast<size_t>(i)];
    if (function != EROICA_NO_PARENT && placed_ns / count >= kLeastWaitNs)
      emit_within_(start_ns, start_ns + placed_ns / count, function);
  }
}

void StackAttribution::Close(int64_t end_ns, const std::optional<RunTimes>& times) {
  if (end_ns > stretch_.time_ns) {
    const Parts parts = PartsOf(end_ns, times);
    std::vector<uint32_t> functions;
    if (!stretch_.is_covered()) functions = Tile(end_ns, parts);
    if (functions.empty() && !stretch_.is_covered() && stretch_.inside != EROICA_NO_PARENT)
      functions = {stretch_.inside};  // no stack was seen in the region
    unplaced_wait_ns_ += parts.waited_ns;
    SpreadWait(stretch_.time_ns + (stretch_.is_covered() ? 0 : parts.blocked_ns), end_ns,
               functions);
  }
  samples_.clear();
}

void StackAttribution::Pass(const TrainingBoundary& boundary) {
  const int64_t time_ns = std::max(boundary.time_ns, latest_ns_);
  if (begun_) Close(time_ns, boundary.times);
  stretch_ = boundary;
  stretch_.time_ns = latest_ns_ = time_ns;
  begun_ = true;
}

void StackAttribution::Sample(const StackSample& sample) {
  latest_ns_ = std::max(latest_ns_, sample.time_ns);
  if (!begun_) {
    stretch_ = {.time_ns = latest_ns_};
    begun_ = true;
  }
  if (!stretch_.is_covered() && samples_.size() < kMostSamples) samples_.push_back(sample);
}

bool StackAttribution::IsLong(int64_t now_ns) const {
  return begun_ && now_ns - stretch_.time_ns >= kLongestPieceNs;
}

void StackAttribution::Cut(int64_t now_ns, const std::optional<RunTimes>& times) {
  TrainingBoundary here = stretch_;
  here.time_ns = now_ns;
  here.times = times;
  Pass(here);
}

void StackAttribution::LeaveCollective(int64_t now_ns) {
  TrainingBoundary here = stretch_;
  here.time_ns = now_ns;
  here.times.reset();
  here.kind = BoundaryKind::kCollectiveEnd;
  here.in_collective = false;
  Pass(here);
}

void StackAttribution::Finish() {
  if (begun_) Close(latest_ns_, std::nullopt);
  if (open_) EmitOpen(end_ns_);
  begun_ = open_ = false;
  stretch_ = {};
  seen_.clear();
}

}  // namespace eroica
