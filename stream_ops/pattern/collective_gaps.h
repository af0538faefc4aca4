// What a rank ran before it joined a collective: the gap since its previous operation on any
// communicator, and which function held the critical path longest in it. An asynchronous operation
// ends a gap, and the next one begins at once: the rank is not held by it. Functions that wait for
// peers are not named: they are symptoms. Functions times gaps must not fill the memory: beyond
// kMostShares what reaches across gaps is not counted. Owner: one CriticalPathSweep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "stream_ops/pattern/critical_clock.h"
#include "stream_ops/pattern/interval.h"

namespace eroica {

inline constexpr uint32_t kNoFunction = std::numeric_limits<uint32_t>::max();

// One collective of the window, in order of start.
struct CollectiveExposure {
  uint32_t ticket = kNoTicket;  // Interval::lane of the collective
  // Its critical time; of an asynchronous one, the rank's waits for peers while it is under way.
  int64_t exposed_ns = 0;
  int64_t gap_ns = 0;
  uint32_t before = kNoFunction;
  int64_t before_ns = 0;  // critical time of `before` in the gap
};

class CollectiveGaps {
 public:
  static constexpr size_t kMostShares = size_t{1} << 24;

  explicit CollectiveGaps(size_t most_shares = kMostShares) : most_shares_(most_shares) {}

  void Start(int64_t window_start_ns);
  // Collectives come by start; all of them before the first Add.
  void AddCollective(uint32_t ticket, int64_t begin_ns, int64_t end_ns);
  bool wanted() const { return !gaps_.empty(); }

  // The function was the leaf of its priority in [begin, end), and the clock ran for critical_ns of
  // it.
  void Add(uint32_t function, int64_t begin_ns, int64_t end_ns, int64_t critical_ns,
           const CriticalClock& clock) {
    if (begin_ns >= gaps_[position_].end_ns && position_ + 1 < gaps_.size()) ++position_;
    const Gap& gap = gaps_[position_];
    if (begin_ns >= gap.begin_ns && end_ns <= gap.end_ns) {
      Note(position_, function, critical_ns);
    } else if (end_ns > gap.begin_ns || (position_ > 0 && begin_ns < gaps_[position_ - 1].end_ns)) {
      AddAcross(function, begin_ns, end_ns, clock);
    }
  }
  void Finish(std::span<const FunctionTraits> functions);
  // By start. Of each, exposed_ns is for the sweep to fill.
  std::vector<CollectiveExposure>& collectives() { return collectives_; }
  const std::vector<CollectiveExposure>& collectives() const { return collectives_; }

 private:
  struct Gap {
    int64_t begin_ns;
    int64_t end_ns;
    uint32_t collective;  // that ends it
  };
  struct Share {
    uint32_t gap;
    uint32_t function;
    int64_t critical_ns;
  };
  bool full() const { return shares_.size() >= most_shares_; }
  void AddAcross(uint32_t function, int64_t begin_ns, int64_t end_ns, const CriticalClock& clock);
  void Note(size_t gap, uint32_t function, int64_t critical_ns) {
    shares_.push_back({static_cast<uint32_t>(gap), function, critical_ns});
  }

  size_t most_shares_;
  std::vector<CollectiveExposure> collectives_;
  std::vector<Gap> gaps_;  // disjoint, ascending
  int64_t last_end_ns_ = 0;
  // segments come nearly in time order: the gap of the last one is looked at first
  size_t position_ = 0;
  std::vector<Share> shares_;
  std::vector<uint32_t> first_share_;  // shares ordered by gap, by counting
  std::vector<Share> ordered_;
  std::vector<int64_t> sum_;  // by function, of the gap at hand
  std::vector<uint32_t> touched_;
};

}  // namespace eroica
