#include "tests/evaluation/simulate/ring_transfer.h"

#include <algorithm>

#include "tests/evaluation/simulate/fault_effects.h"

namespace eroica::simulate {

bool RingLinks::AreUniform() const {
  return std::all_of(segments_.begin(), segments_.end(), [this](const HostSegment& segment) {
    return segment.even && segment.path == kUnit && segment.count == segments_.front().count;
  });
}

RingLink RingLinks::NetworkLink(uint32_t ring, uint32_t segment) const {
  const HostSegment& from = segments_[segment];
  const HostSegment& to = segments_[segment + 1 == segments_.size() ? 0 : segment + 1];
  const uint32_t out = ring % from.count;
  const uint32_t in = ring % to.count;
  const MemberLinks& sender = members_[from.first + out];
  const MemberLinks& receiver = members_[to.first + in];
  const double send = ShareLeft(std::min(sender.nic_send, from.path)) / RingsThrough(from, out);
  const double receive =
      ShareLeft(std::min(receiver.nic_receive, from.path)) / RingsThrough(to, in);
  const double level = std::min(send, receive);
  return {.member = from.first + out,
          .receiver = to.first + in,
          .resource = Resource::kNic,
          .cost = 1 / (fabric_.nic * level),
          .level = level};
}

uint32_t RingLinks::RingsOverPcie(const HostSegment& segment, uint32_t place) const {
  // Both directions carry the same rings, so what leaves a place stands for what comes in, too.
  uint32_t rings = 0;
  for (uint32_t ring = 0; ring < fabric_.rings; ++ring) {
    if (Leaves(segment, ring, place)) continue;
    const bool over = members_[segment.first + place].nvlink_over_pcie ||
                      members_[segment.first + NextPlace(segment, ring, place)].nvlink_over_pcie;
    rings += over ? 1 : 0;
  }
  return std::max(rings, 1u);
}

RingLink RingLinks::HostLink(uint32_t ring, const HostSegment& segment, uint32_t place) const {
  const uint32_t next = NextPlace(segment, ring, place);
  const MemberLinks& sender = members_[segment.first + place];
  const MemberLinks& receiver = members_[segment.first + next];
  if (!sender.nvlink_over_pcie && !receiver.nvlink_over_pcie) {
    const double level = ShareLeft(std::min(sender.nvlink, receiver.nvlink)) / fabric_.rings;
    return {.member = segment.first + place,
            .receiver = segment.first + next,
            .resource = Resource::kNvlink,
            .cost = 1 / (fabric_.nvlink * level),
            .level = level};
  }
  const uint32_t rings = std::max(RingsOverPcie(segment, place), RingsOverPcie(segment, next));
  const double level = ShareLeft(std::min(sender.pcie, receiver.pcie)) / rings;
  return {.member = segment.first + place,
          .receiver = segment.first + next,
          .resource = Resource::kPcieTx,
          .cost = 1 / (fabric_.pcie * level),
          .level = level};
}

RingCost RingLinks::CostOf(uint32_t ring) const {
  RingCost total;
  const auto add = [&](double cost, double latency_ns, uint32_t links) {
    total.slowest = std::max(total.slowest, cost);
    total.sum += cost * links;
    total.latency_ns += latency_ns * links;
    total.links += links;
  };
  const double network_ns = static_cast<double>(fabric_.hop_latency_ns);
  const double host_ns = network_ns / kNvlinkHops;
  const bool leaves = segments_.size() > 1;
  for (uint32_t s = 0; s < segments_.size(); ++s) {
    const HostSegment& segment = segments_[s];
    if (leaves) add(NetworkLink(ring, s).cost, network_ns, 1);
    if (segment.count == 1) continue;
    if (segment.even) {
      add(fabric_.rings / fabric_.nvlink, host_ns, segment.count - (leaves ? 1 : 0));
      continue;
    }
    for (uint32_t place = 0; place < segment.count; ++place) {
      if (!Leaves(segment, ring, place)) add(HostLink(ring, segment, place).cost, host_ns, 1);
    }
  }
  return total;
}

}  // namespace eroica::simulate
