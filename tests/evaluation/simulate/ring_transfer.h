// The pace of one ring. Member i ends its k-th slice at T(i, k) = max(T(i, k - 1), T(i - 1, k -
// chunks) + latency) + s(i): it needs its link free, and the slice that it passes on. Such a
// recurrence of maxima and sums soon repeats itself with the period of its slowest cycle, and has
// only two: a link that works without a rest, or a chunk that goes around the ring. So the period
// is the larger of max s(i) and mean (s(i) + latency) / chunks, and the end comes after so many
// periods (transfer_test.cc computes both).
//
// Where rings run: ring r visits the hosts in order. It enters and leaves a host at the NIC of
// member r modulo the members there, as rail-aligned networks want it, and passes the others on the
// way, upwards where r is even and downwards where it is odd: a member has other neighbors on other
// rings, as NCCL's channels have.
#pragma once

#include <cstdint>
#include <span>

#include "tests/evaluation/simulate/transfer.h"

namespace eroica::simulate {

// What a ring's links cost, in nanoseconds a byte.
struct RingCost {
  double slowest = 0;
  double sum = 0;
  double latency_ns = 0;  // summed over the links
  uint32_t links = 0;
};

// One directed link of a ring, of the member that sends.
struct RingLink {
  uint32_t member = 0;
  uint32_t receiver = 0;
  Resource resource = Resource::kNvlink;
  double cost = 0;   // nanoseconds a byte
  double level = 0;  // own speed in shares of the link's nominal speed
};

// The links of all rings of one group; a view, made for one call. members: all of the group;
// segments: their hosts.
class RingLinks {
 public:
  // Between devices of a host data is passed on so much faster than through a NIC and the network.
  static constexpr int64_t kNvlinkHops = 4;

  RingLinks(const Fabric& fabric, std::span<const MemberLinks> members,
            std::span<const HostSegment> segments)
      : fabric_(fabric), members_(members), segments_(segments) {}

  uint32_t rings() const { return fabric_.rings; }
  // Whether no ring is slower than ring 0.
  bool AreUniform() const;
  RingCost CostOf(uint32_t ring) const;

  template <typename Visit>
  void ForEachLink(uint32_t ring, Visit visit) const {
    for (uint32_t s = 0; s < segments_.size(); ++s) {
      const HostSegment& segment = segments_[s];
      for (uint32_t i = 0; i < segment.count; ++i) {
        if (Leaves(segment, ring, i)) {
          visit(NetworkLink(ring, s));
        } else if (segment.count > 1) {
          visit(HostLink(ring, segment, i));
        }
      }
    }
  }

 private:
  bool Leaves(const HostSegment& segment, uint32_t ring, uint32_t place) const {
    return segments_.size() > 1 && place == ring % segment.count;
  }
  static uint32_t NextPlace(const HostSegment& segment, uint32_t ring, uint32_t place) {
    return (ring % 2 == 0 ? place + 1 : place + segment.count - 1) % segment.count;
  }
  // Rings that leave the host at this place.
  uint32_t RingsThrough(const HostSegment& segment, uint32_t place) const {
    return fabric_.rings / segment.count + (place < fabric_.rings % segment.count ? 1 : 0);
  }
  RingLink NetworkLink(uint32_t ring, uint32_t segment) const;
  RingLink HostLink(uint32_t ring, const HostSegment& segment, uint32_t place) const;
  uint32_t RingsOverPcie(const HostSegment& segment, uint32_t place) const;

  const Fabric& fabric_;
  std::span<const MemberLinks> members_;
  std::span<const HostSegment> segments_;
};

}  // namespace eroica::simulate
