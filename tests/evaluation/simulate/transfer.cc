#include "tests/evaluation/simulate/transfer.h"

#include <algorithm>
#include <bit>

#include "schemas/check.h"
#include "tests/evaluation/simulate/fault_effects.h"
#include "tests/evaluation/simulate/ring_transfer.h"

namespace eroica::simulate {
namespace {

// NCCL has a buffer of 4 MiB for each channel at both ends of a link: a sender that runs ahead
// sends so much or twice as much before it waits. A broadcast's chunks are an eighth of it.
constexpr double kChunkBytes = 4 << 20;
constexpr double kBroadcastChunkBytes = 512 << 10;
// Below, an all-reduce takes the tree.
constexpr uint64_t kTreeBytes = 1 << 20;
// Pieces that an all-to-all has under way at a time.
constexpr uint32_t kPairsAtOnce = 8;

int64_t Round(double ns) { return static_cast<int64_t>(ns + 0.5); }
// Links that a tree's data passes from the farthest member to the root and back.
double TreeHops(size_t members) { return 2.0 * static_cast<double>(std::bit_width(members - 1)); }

bool IsEven(const MemberLinks& links) {
  return links.nvlink == kUnit && links.nic_send == kUnit && links.nic_receive == kUnit &&
         links.pcie == kUnit && !links.nvlink_over_pcie;
}

Factor PathSpeed(std::span<const PathEffect> paths, uint32_t source, uint32_t destination) {
  const auto before = [](const PathEffect& path, const std::pair<uint32_t, uint32_t>& hosts) {
    return std::pair(path.source_host, path.destination_host) < hosts;
  };
  const auto found =
      std::lower_bound(paths.begin(), paths.end(), std::pair(source, destination), before);
  const bool hit = found != paths.end() && found->source_host == source &&
                   found->destination_host == destination;
  return hit ? found->speed : kUnit;
}

double NominalSpeed(const Fabric& fabric, Resource resource) {
  return resource == Resource::kNic      ? fabric.nic
         : resource == Resource::kPcieTx ? fabric.pcie
                                         : fabric.nvlink;
}

struct SpeedOver {
  double bytes_per_ns = 0;
  Resource resource = Resource::kNvlink;
};

// From one rank to another, where nobody else is on the way.
SpeedOver PairSpeed(const Fabric& fabric, const MemberLinks& source, const MemberLinks& destination,
                    std::span<const PathEffect> paths) {
  if (source.host != destination.host) {
    const Factor factor = std::min({source.nic_send, destination.nic_receive,
                                    PathSpeed(paths, source.host, destination.host)});
    return {fabric.nic * ShareLeft(factor), Resource::kNic};
  }
  if (source.nvlink_over_pcie || destination.nvlink_over_pcie)
    return {fabric.pcie * ShareLeft(std::min(source.pcie, destination.pcie)), Resource::kPcieTx};
  return {fabric.nvlink * ShareLeft(std::min(source.nvlink, destination.nvlink)),
          Resource::kNvlink};
}

void FindSegments(std::span<const MemberLinks> members, std::span<const PathEffect> paths,
                  std::vector<HostSegment>& segments) {
  segments.clear();
  for (uint32_t i = 0; i < members.size(); ++i) {
    if (segments.empty() || segments.back().host != members[i].host)
      segments.push_back({.first = i, .count = 0, .host = members[i].host});
    ++segments.back().count;
    segments.back().even = segments.back().even && IsEven(members[i]);
  }
  if (paths.empty() || segments.size() < 2) return;
  for (size_t s = 0; s < segments.size(); ++s) {
    segments[s].path = PathSpeed(paths, segments[s].host, segments[(s + 1) % segments.size()].host);
  }
}

// Rings that keep one pace show as one activity of a link.
void AddActivity(std::vector<LinkActivity>& activities, const LinkActivity& added) {
  for (LinkActivity& activity : activities) {
    if (activity.resource == added.resource && activity.period_ns == added.period_ns &&
        activity.slice_ns == added.slice_ns && activity.duration_ns == added.duration_ns) {
      activity.level += added.level;
      return;
    }
  }
  activities.push_back(added);
}

void AddFlow(std::vector<LinkFlow>& flows, uint32_t destination, Resource resource, double bytes,
             double ns) {
  for (LinkFlow& flow : flows) {
    if (flow.destination != destination || flow.resource != resource) continue;
    flow.bytes += static_cast<uint64_t>(Round(bytes));
    flow.busy_ns += Round(ns);
    ++flow.channels;
    return;
  }
  flows.push_back({.destination = destination,
                   .resource = resource,
                   .bytes = static_cast<uint64_t>(Round(bytes)),
                   .busy_ns = Round(ns),
                   .channels = 1});
}

void PrepareActivities(size_t members, Transfer& transfer) {
  if (transfer.activities.size() < members) transfer.activities.resize(members);
  if (transfer.flows.size() < members) transfer.flows.resize(members);
  for (size_t i = 0; i < members; ++i) {
    transfer.activities[i].clear();
    transfer.flows[i].clear();
  }
}

// What one call computes with.
struct Call {
  const Fabric& fabric;
  std::span<const MemberLinks> members;
  std::span<const PathEffect> paths;
  bool want_activities;
  Transfer& transfer;

  bool one_host() const { return transfer.segments.size() == 1; }
  double latency_ns() const {
    return static_cast<double>(one_host() ? fabric.hop_latency_ns / RingLinks::kNvlinkHops
                                          : fabric.hop_latency_ns);
  }
};

// rounds: slices that each link moves one after another. fill: a pipeline's first chunk must pass
// all links before the last one works.
struct RingPlan {
  double slice_bytes = 0;
  double rounds = 0;
  double chunks = 1;  // of a slice
  bool fill = false;
};

void Ring(const Call& call, const RingPlan& plan) {
  const RingLinks links(call.fabric, call.members, call.transfer.segments);
  const bool uniform = links.AreUniform();
  RingCost cost;
  double total_ns = 0;
  for (uint32_t ring = 0; ring < links.rings(); ++ring) {
    if (ring == 0 || !uniform || call.want_activities) cost = links.CostOf(ring);
    const double mean_ns =
        (plan.slice_bytes * cost.sum / plan.chunks + cost.latency_ns) / cost.links;
    const double slowest_ns = plan.slice_bytes * cost.slowest;
    const double period_ns = plan.fill ? slowest_ns : std::max(slowest_ns, mean_ns);
    const double moving_ns = plan.rounds * period_ns;
    const double last_ns = plan.fill ? mean_ns * (cost.links - 1) : call.latency_ns();
    total_ns = std::max({total_ns, moving_ns, plan.rounds * slowest_ns + last_ns});
    if (call.want_activities) {
      links.ForEachLink(ring, [&](const RingLink& link) {
        AddActivity(call.transfer.activities[link.member],
                    {.resource = link.resource,
                     .period_ns = std::max<int64_t>(Round(period_ns / plan.chunks), 1),
                     .slice_ns = Round(plan.slice_bytes * link.cost / plan.chunks),
                     .duration_ns = Round(moving_ns),
                     .level = static_cast<float>(link.level)});
        const double bytes = plan.slice_bytes * plan.rounds;
        AddFlow(call.transfer.flows[link.member], link.receiver, link.resource, bytes,
                bytes * link.cost);
      });
    } else if (uniform) {
      break;
    }
  }
  call.transfer.duration_ns = Round(total_ns);
}

// slices: that a member's buffer is cut into for each ring.
RingPlan PlanOf(uint64_t bytes, uint32_t rings, double slices, double rounds) {
  RingPlan plan{.slice_bytes = static_cast<double>(bytes) / (slices * rings), .rounds = rounds};
  plan.chunks =
      std::max(1.0, static_cast<double>(static_cast<int64_t>(plan.slice_bytes / kChunkBytes)));
  return plan;
}

RingPlan BroadcastPlan(uint64_t bytes, uint32_t rings) {
  const double all = static_cast<double>(bytes) / rings;
  const double chunk = std::max(1.0, std::min(all, kBroadcastChunkBytes));
  return {.slice_bytes = chunk, .rounds = all / chunk, .fill = true};
}

// Two trees, half of the data each; up to the root and down again. Every link that is slower than
// the others holds it up once on each way.
void Tree(const Call& call, uint64_t bytes) {
  const double hops = TreeHops(call.members.size());
  const double half = static_cast<double>(bytes) / 2;
  const bool network = !call.one_host();
  const double nominal = network ? call.fabric.nic : call.fabric.nvlink;
  const double even_ns = half / nominal;
  double slowest_ns = even_ns;
  const auto level_of = [&](const HostSegment& segment, const MemberLinks& links) {
    if (network) return ShareLeft(std::min({links.nic_send, links.nic_receive, segment.path}));
    return links.nvlink_over_pcie ? ShareLeft(links.pcie) * call.fabric.pcie / nominal
                                  : ShareLeft(links.nvlink);
  };
  for (const HostSegment& segment : call.transfer.segments) {
    if (segment.even && segment.path == kUnit) continue;
    for (uint32_t i = segment.first; i < segment.first + segment.count; ++i) {
      slowest_ns = std::max(slowest_ns, even_ns / level_of(segment, call.members[i]));
    }
  }
  const double total_ns = hops * (call.latency_ns() + even_ns) + 2 * (slowest_ns - even_ns);
  call.transfer.duration_ns = Round(total_ns);
  if (!call.want_activities) return;
  for (const HostSegment& segment : call.transfer.segments) {
    for (uint32_t i = segment.first; i < segment.first + segment.count; ++i) {
      const double level = level_of(segment, call.members[i]);
      AddActivity(call.transfer.activities[i],
                  {.resource = network ? Resource::kNic : Resource::kNvlink,
                   .period_ns = std::max<int64_t>(Round(total_ns / 2), 1),
                   .slice_ns = Round(even_ns / level),
                   .duration_ns = call.transfer.duration_ns,
                   .level = static_cast<float>(level)});
    }
  }
}

// Nanoseconds a byte by which slow paths from or to the segment's host lengthen what one member of
// it exchanges with all others through its NIC.
double PathDelay(const Call& call, const HostSegment& segment, bool sends) {
  double delay = 0;
  if (call.paths.empty()) return delay;
  for (const HostSegment& other : call.transfer.segments) {
    if (other.host == segment.host) continue;
    const Factor speed = sends ? PathSpeed(call.paths, segment.host, other.host)
                               : PathSpeed(call.paths, other.host, segment.host);
    if (speed < kUnit) delay += other.count * (1 / ShareLeft(speed) - 1) / call.fabric.nic;
  }
  return delay;
}

void AddPairFlows(const Call& call, double piece) {
  for (uint32_t i = 0; i < call.members.size(); ++i) {
    for (uint32_t j = 0; j < call.members.size(); ++j) {
      if (i == j) continue;
      const auto [speed, resource] =
          PairSpeed(call.fabric, call.members[i], call.members[j], call.paths);
      AddFlow(call.transfer.flows[i], j, resource, piece, piece / speed);
    }
  }
}

// Each member exchanges a piece with every other, over NVLink on its host and by its own NIC
// beyond. It is done when its busiest link is.
void Pairwise(const Call& call, uint64_t bytes) {
  const double piece = static_cast<double>(bytes) / static_cast<double>(call.members.size());
  double slowest_ns = 0;
  for (const HostSegment& segment : call.transfer.segments) {
    const double inside = segment.count - 1;
    const double outside = static_cast<double>(call.members.size() - segment.count);
    const double send_delay = PathDelay(call, segment, true);
    const double receive_delay = PathDelay(call, segment, false);
    for (uint32_t i = segment.first; i < segment.first + segment.count; ++i) {
      const MemberLinks& links = call.members[i];
      const Resource local = links.nvlink_over_pcie ? Resource::kPcieTx : Resource::kNvlink;
      const double local_level = ShareLeft(links.nvlink_over_pcie ? links.pcie : links.nvlink);
      const double local_ns =
          piece * inside /
          ((links.nvlink_over_pcie ? call.fabric.pcie : call.fabric.nvlink) * local_level);
      const double send_ns =
          piece * (outside / (call.fabric.nic * ShareLeft(links.nic_send)) + send_delay);
      const double receive_ns =
          piece * (outside / (call.fabric.nic * ShareLeft(links.nic_receive)) + receive_delay);
      slowest_ns = std::max({slowest_ns, local_ns, send_ns, receive_ns});
      if (!call.want_activities) continue;
      const auto add = [&](Resource resource, double ns, double pieces, double nominal) {
        if (pieces == 0) return;
        const int64_t each = std::max<int64_t>(Round(ns / pieces), 1);
        const double level = piece * pieces / (ns * nominal);
        call.transfer.activities[i].push_back(
            {resource, each, each, Round(ns), static_cast<float>(level)});
      };
      add(local, local_ns, inside,
          local == Resource::kPcieTx ? call.fabric.pcie : call.fabric.nvlink);
      add(Resource::kNic, std::max(send_ns, receive_ns), outside, call.fabric.nic);
    }
  }
  if (call.want_activities) AddPairFlows(call, piece);
  const uint64_t turns = (call.members.size() - 1 + kPairsAtOnce - 1) / kPairsAtOnce;
  call.transfer.duration_ns = Round(slowest_ns + static_cast<double>(turns) * call.latency_ns());
}

}  // namespace

void TransferModel::Collective(CollectiveOperation operation, uint64_t bytes,
                               std::span<const MemberLinks> members,
                               std::span<const PathEffect> paths, bool want_activities,
                               Transfer& transfer) const {
  EROICA_CHECK(!members.empty());
  FindSegments(members, paths, transfer.segments);
  if (want_activities) PrepareActivities(members.size(), transfer);
  transfer.duration_ns = 0;
  if (members.size() == 1) return;
  const Call call{fabric_, members, paths, want_activities, transfer};
  const double others = static_cast<double>(members.size() - 1);
  const double slices = static_cast<double>(members.size());
  switch (operation) {
    case CollectiveOperation::kBarrier:
      transfer.duration_ns = Round(TreeHops(members.size()) * call.latency_ns());
      return;
    case CollectiveOperation::kAllToAll: return Pairwise(call, bytes);
    case CollectiveOperation::kAllGather:
    case CollectiveOperation::kReduceScatter:
      return Ring(call, PlanOf(bytes, fabric_.rings, slices, others));
    case CollectiveOperation::kAllReduce:
    case CollectiveOperation::kUnknown:
      if (bytes < kTreeBytes) return Tree(call, bytes);
      return Ring(call, PlanOf(bytes, fabric_.rings, slices, 2 * others));
    // A root's link carries the whole buffer once, whether the others get all of it or each a part.
    case CollectiveOperation::kBroadcast:
    case CollectiveOperation::kReduce:
    case CollectiveOperation::kGather:
    case CollectiveOperation::kScatter:
    case CollectiveOperation::kSend:
    case CollectiveOperation::kRecv: return Ring(call, BroadcastPlan(bytes, fabric_.rings));
  }
}

void TransferModel::PointToPoint(uint64_t bytes, const MemberLinks& source,
                                 const MemberLinks& destination, std::span<const PathEffect> paths,
                                 bool want_activities, Transfer& transfer) const {
  const auto [speed, resource] = PairSpeed(fabric_, source, destination, paths);
  const bool network = resource == Resource::kNic;
  const double moving_ns = static_cast<double>(bytes) / speed;
  transfer.duration_ns =
      Round(moving_ns) +
      (network ? fabric_.hop_latency_ns : fabric_.hop_latency_ns / RingLinks::kNvlinkHops);
  if (!want_activities) return;
  PrepareActivities(2, transfer);
  const int64_t busy_ns = std::max<int64_t>(Round(moving_ns), 1);
  const float level = static_cast<float>(speed / NominalSpeed(fabric_, resource));
  for (int end = 0; end < 2; ++end) {
    transfer.activities[static_cast<size_t>(end)].push_back(
        {resource, busy_ns, busy_ns, busy_ns, level});
  }
  AddFlow(transfer.flows[0], 1, resource, static_cast<double>(bytes), moving_ns);
}

}  // namespace eroica::simulate
