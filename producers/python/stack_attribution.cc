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

// part/whole of ns.
int64_t PartOf(int64_t ns, int64_t part, int64_t whole) {
  if (whole <= 0) return 0;
  return static_cast<int64_t>(static_cast<double>(ns) * static_cast<double>(part) /
                              static_cast<double>(whole));
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

StackAttribution::Shares StackAttribution::Equally(const std::vector<uint32_t>& functions) {
  Shares shares;
  for (const uint32_t function : functions) {
    if (shares.empty() || shares.back().function != function) shares.push_back({function, 0});
    ++shares.back().ns;
  }
  return shares;
}

int64_t StackAttribution::SumOf(const Shares& shares) {
  int64_t all_ns = 0;
  for (const Share& share : shares) all_ns += share.ns;
  return all_ns;
}

void StackAttribution::AddShares(int64_t begin_ns, int64_t end_ns, const Shares& shares) {
  const int64_t all_ns = SumOf(shares);
  if (all_ns <= 0) return;
  const double scale = static_cast<double>(end_ns - begin_ns) / static_cast<double>(all_ns);
  int64_t so_far_ns = 0;
  int64_t start_ns = begin_ns;
  for (const Share& share : shares) {
    so_far_ns += share.ns;
    const int64_t until_ns =
        so_far_ns == all_ns
            ? end_ns
            : begin_ns + static_cast<int64_t>(scale * static_cast<double>(so_far_ns));
    Add(start_ns, until_ns, share.function);
    start_ns = std::max(start_ns, until_ns);
  }
}

StackAttribution::Parts StackAttribution::PartsOf(int64_t end_ns,
                                                  const std::optional<RunTimes>& times) const {
  const int64_t length_ns = end_ns - stretch_.time_ns;
  if (!times || !stretch_.times) {
    if (!blocks_.is_whole()) return {};
    return {.blocked_ns = std::min(blocks_.total_ns(), length_ns),
            .waited_ns = blocks_.preempted_ns(),
            .preempted_ns = blocks_.preempted_ns(),
            .known = true};
  }
  const int64_t ran_ns = times->on_processor_ns - stretch_.times->on_processor_ns;
  const int64_t waited_ns = times->runnable_ns - stretch_.times->runnable_ns;
  Parts parts{.waited_ns = std::max<int64_t>(0, waited_ns), .known = true};
  parts.preempted_ns =
      blocks_.is_whole() ? std::min(blocks_.preempted_ns(), parts.waited_ns) : parts.waited_ns;
  parts.blocked_ns =
      std::clamp<int64_t>(length_ns - std::max<int64_t>(0, ran_ns) - parts.waited_ns, 0, length_ns);
  if (parts.blocked_ns < kLeastPartNs) parts.blocked_ns = 0;
  if (length_ns - parts.blocked_ns < kLeastPartNs && parts.blocked_ns > 0)
    parts.blocked_ns = length_ns;
  return parts;
}

const StackSample* StackAttribution::SampleIn(const ThreadBlock& block) const {
  const auto found = std::ranges::find_if(samples_, [&block](const StackSample& sample) {
    return sample.time_ns >= block.begin_ns && sample.time_ns < block.end_ns;
  });
  return found == samples_.end() ? nullptr : &*found;
}

// Where all blocks are known, they say it better than a look at the thread, which takes a moment.
bool StackAttribution::WasBlocked(const StackSample& sample) const {
  if (!blocks_.is_whole()) return sample.state != ThreadState::kRunning;
  return std::ranges::any_of(blocks_.blocks(), [&sample](const ThreadBlock& block) {
    return sample.time_ns >= block.begin_ns && sample.time_ns < block.end_ns;
  });
}

// Of the samples of that state; without one what was seen of late.
std::vector<uint32_t> StackAttribution::Leaves(bool blocked, int64_t length_ns, Seen* seen) const {
  std::vector<uint32_t> leaves;
  for (const StackSample& sample : samples_) {
    if (sample.state == ThreadState::kUnknown || WasBlocked(sample) == blocked)
      leaves.push_back(sample.leaf);
  }
  SeenFunctions& of_late = blocked ? seen->blocked : seen->running;
  for (const uint32_t leaf : leaves) of_late.Add(length_ns, leaf);
  return leaves.empty() ? of_late.In(length_ns) : leaves;
}

// By function, in the order of their first blocks. A block unlike all that were seen has none: it
// belongs to what runs, where the thread waits for a moment, too.
StackAttribution::Shares StackAttribution::SharesOfBlocks(Seen* seen) const {
  for (const ThreadBlock& block : blocks_.blocks()) {
    if (const StackSample* sample = SampleIn(block))
      seen->blocks.Add(block.length_ns(), sample->leaf);
  }
  Shares shares;
  for (const ThreadBlock& block : blocks_.blocks()) {
    const StackSample* sample = SampleIn(block);
    const std::optional<uint32_t> alike = seen->blocks.MostAlike(block.length_ns());
    if (sample == nullptr && !alike) continue;
    const uint32_t function = sample != nullptr ? sample->leaf : *alike;
    const auto share = std::ranges::find(shares, function, &Share::function);
    if (share != shares.end()) {
      share->ns += block.length_ns();
    } else {
      shares.push_back({.function = function, .ns = block.length_ns()});
    }
  }
  return shares;
}

StackAttribution::Shares StackAttribution::Tile(int64_t end_ns, const Parts& parts) {
  if (seen_.size() >= kMostKinds) seen_.clear();
  Seen& seen = seen_[KindOf(stretch_)];
  const int64_t length_ns = end_ns - stretch_.time_ns;
  std::vector<uint32_t> running = Leaves(false, length_ns, &seen);
  std::vector<uint32_t> blocked = Leaves(true, length_ns, &seen);
  if (!running.empty()) last_running_ = seen.running.newest();
  // Nothing of a sleep runs: what little does is more like what ran before.
  if (running.empty() && last_running_) running = {*last_running_};
  if (running.empty()) running = blocked;
  if (blocked.empty()) blocked = running;
  if (running.empty() && open_) running = blocked = {leaf_};
  if (running.empty()) {  // no stack was seen so far
    if (stretch_.inside == EROICA_NO_PARENT) return {};
    return {{stretch_.inside, parts.waited_ns}};
  }
  int64_t blocked_ns = parts.blocked_ns;
  if (!parts.known && !samples_.empty()) {
    running.clear();
    for (const StackSample& sample : samples_) running.push_back(sample.leaf);
  }
  Shares shares = Equally(blocked);
  int64_t all_ns = SumOf(shares);
  if (blocks_.is_whole() && blocked_ns > 0) {
    shares = SharesOfBlocks(&seen);
    all_ns = blocks_.total_ns();
    blocked_ns = PartOf(blocked_ns, SumOf(shares), all_ns);
  }
  const int64_t middle_ns = stretch_.time_ns + blocked_ns;
  AddShares(stretch_.time_ns, middle_ns, shares);
  AddShares(middle_ns, end_ns, Equally(running));
  Shares waits = WaitsOfRunning(running, blocked_ns > 0 ? shares : Shares{}, parts.preempted_ns);
  if (!blocks_.is_whole()) return waits;
  for (const Share& share : shares)
    waits.push_back({share.function, PartOf(parts.waking_ns(), share.ns, all_ns)});
  return waits;
}

// A function that blocks is seen runnable when it wakes up: few samples show for how long.
StackAttribution::Shares StackAttribution::WaitsOfRunning(const std::vector<uint32_t>& running,
                                                          const Shares& blocked,
                                                          int64_t waited_ns) {
  Shares waits;
  for (const uint32_t function : running) {
    if (std::ranges::find(blocked, function, &Share::function) == blocked.end())
      waits.push_back({function, waited_ns / static_cast<int64_t>(running.size())});
  }
  return waits;
}

void StackAttribution::SpreadWait(int64_t begin_ns, int64_t end_ns, int64_t waited_ns,
                                  const Shares& waits) {
  unplaced_wait_ns_ += waited_ns;
  if (unplaced_wait_ns_ < kLeastWaitNs || begin_ns >= end_ns) return;
  const int64_t placed_ns = std::min(unplaced_wait_ns_, end_ns - begin_ns);
  SpreadShare(begin_ns, end_ns,
              static_cast<double>(placed_ns) / static_cast<double>(end_ns - begin_ns),
              CellSide::kBegin, emit_wait_);
  unplaced_wait_ns_ = std::min(unplaced_wait_ns_ - placed_ns, kMostUnplacedNs);
  int64_t start_ns = begin_ns;
  for (const Share& wait : waits) {
    const int64_t until_ns = std::min(end_ns, start_ns + wait.ns);
    if (until_ns - start_ns < kLeastWaitNs) continue;
    emit_within_(start_ns, until_ns, wait.function);
    start_ns = until_ns;
  }
}

void StackAttribution::Close(int64_t end_ns, const std::optional<RunTimes>& times) {
  blocks_.End(end_ns);
  if (end_ns > stretch_.time_ns) {
    const Parts parts = PartsOf(end_ns, times);
    Shares waits;
    if (!stretch_.is_covered()) waits = Tile(end_ns, parts);
    // A collective goes before all that Python does. Another wait would lose what is emitted in it.
    const bool is_of_cover = stretch_.is_covered() && !stretch_.in_collective;
    if (!is_of_cover)
      SpreadWait(stretch_.time_ns + (stretch_.is_covered() ? 0 : parts.blocked_ns), end_ns,
                 parts.waited_ns, waits);
  }
  samples_.clear();
  blocks_.Begin();
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
  last_running_.reset();
  blocks_.Forget();
}

}  // namespace eroica
