#include "tests/evaluation/simulate/transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace eroica::simulate {
namespace {

std::vector<MemberLinks> Members(uint32_t count, uint32_t per_host) {
  std::vector<MemberLinks> members(count);
  for (uint32_t i = 0; i < count; ++i) members[i] = {.host = i / per_host, .device = i % per_host};
  return members;
}

constexpr Factor kHalf = kUnit / 2;
constexpr uint64_t kMiB = uint64_t{1} << 20;

// Slice by slice: when the last of so many slices has arrived everywhere.
double ExactEnd(const std::vector<double>& slice_ns, double latency_ns, size_t rounds,
                size_t chunks) {
  const size_t n = slice_ns.size();
  const size_t slices = rounds * chunks;
  std::vector<std::vector<double>> end(slices + 1, std::vector<double>(n, 0));
  for (size_t k = 1; k <= slices; ++k) {
    for (size_t i = 0; i < n; ++i) {
      const double passed_on = k > chunks ? end[k - chunks][(i + n - 1) % n] + latency_ns : 0;
      end[k][i] = std::max(end[k - 1][i], passed_on) + slice_ns[i];
    }
  }
  return *std::max_element(end[slices].begin(), end[slices].end()) + latency_ns;
}

struct RingCase {
  uint32_t members;
  uint64_t bytes;
  Factor slow;
};

class RingRecurrence : public testing::TestWithParam<RingCase> {};

TEST_P(RingRecurrence, EndsWhenTheClosedFormSays) {
  const RingCase& with = GetParam();
  const Fabric fabric{.rings = 1};
  std::vector<MemberLinks> members = Members(with.members, 1);
  members[with.members / 3].nic_send = with.slow;
  const double slice = static_cast<double>(with.bytes) / with.members;
  const double chunks = std::max(1.0, std::floor(slice / (4.0 * kMiB)));
  std::vector<double> slice_ns(with.members, slice / chunks / fabric.nic);
  slice_ns[with.members / 3] *= static_cast<double>(kUnit) / with.slow;

  const TransferModel model(fabric);
  Transfer transfer;
  for (const auto& [operation, rounds] :
       {std::pair(CollectiveOperation::kAllReduce, 2 * (with.members - 1)),
        std::pair(CollectiveOperation::kAllGather, with.members - 1),
        std::pair(CollectiveOperation::kReduceScatter, with.members - 1)}) {
    model.Collective(operation, with.bytes, members, {}, false, transfer);
    const double exact = ExactEnd(slice_ns, static_cast<double>(fabric.hop_latency_ns), rounds,
                                  static_cast<size_t>(chunks));
    EXPECT_NEAR(static_cast<double>(transfer.duration_ns) / exact, 1, 0.03)
        << ToString(operation) << " takes " << exact;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Transfer, RingRecurrence,
    testing::Values(RingCase{4, 64 * kMiB, kUnit}, RingCase{4, 64 * kMiB, kHalf},
                    RingCase{8, 4 * kMiB, kUnit}, RingCase{8, 4 * kMiB, ToFactor(0.9)},
                    RingCase{16, 1024 * kMiB, ToFactor(0.97)},
                    RingCase{16, 1024 * kMiB, ToFactor(0.25)}, RingCase{32, 2 * kMiB, kHalf},
                    RingCase{32, 256 * kMiB, ToFactor(0.8)}, RingCase{32, 4096 * kMiB, kHalf}));

struct Usage {
  double mean = 0;
  double deviation = 0;
};

// What a counter that is read every period sees of a resource while the links move.
Usage Sampled(const std::vector<LinkActivity>& activities, Resource resource, int64_t period_ns) {
  std::vector<double> samples;
  for (int64_t at = 0;; at += period_ns) {
    double value = 0;
    bool moving = false;
    for (const LinkActivity& activity : activities) {
      if (activity.resource != resource || at + period_ns > activity.duration_ns) continue;
      moving = true;
      const auto busy_until = [&](int64_t time) {
        return time / activity.period_ns * activity.slice_ns +
               std::min(time % activity.period_ns, activity.slice_ns);
      };
      value += static_cast<double>(activity.level) *
               static_cast<double>(busy_until(at + period_ns) - busy_until(at)) /
               static_cast<double>(period_ns);
    }
    if (!moving) break;
    samples.push_back(value);
  }
  if (samples.empty()) return {};
  Usage usage;
  usage.mean =
      std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  for (const double sample : samples)
    usage.deviation += (sample - usage.mean) * (sample - usage.mean);
  usage.deviation = std::sqrt(usage.deviation / static_cast<double>(samples.size()));
  return usage;
}

// EROICA (NSDI'26), section 6.1: 32 ranks on 4 hosts, one of them sends at half its speed. 8 rings,
// so that each rank has one.
TEST(TransferSignature, SlowNicIsSteadyAndItsVictimsSwing) {
  const TransferModel model(Fabric{});
  std::vector<MemberLinks> members = Members(32, 8);
  constexpr size_t kCulprit = 10;  // host 1, device 2
  members[kCulprit].nic_send = kHalf;
  Transfer transfer;
  model.Collective(CollectiveOperation::kAllReduce, 1024 * kMiB, members, {}, true, transfer);
  for (size_t i = 0; i < members.size(); ++i) {
    const Usage usage = Sampled(transfer.activities[i], Resource::kNic, 100'000);
    if (i == kCulprit) {
      EXPECT_NEAR(usage.mean, 0.5, 0.02);
      EXPECT_LT(usage.deviation, 0.02);
    } else if (i % 8 == kCulprit % 8) {
      EXPECT_NEAR(usage.mean, 0.5, 0.05) << i;
      EXPECT_GT(usage.deviation, 0.25) << i;
    } else {
      EXPECT_GT(usage.mean, 0.9) << i;
      EXPECT_LT(usage.deviation, 0.1) << i;
    }
  }
}

TEST(TransferSignature, BondLostBothWaysIsSteadyAtBothItsLinks) {
  const TransferModel model(Fabric{});
  std::vector<MemberLinks> members = Members(32, 8);
  members[10].nic_send = members[10].nic_receive = kHalf;
  Transfer transfer;
  model.Collective(CollectiveOperation::kAllReduce, 1024 * kMiB, members, {}, true, transfer);
  for (const size_t at_the_link : {2u, 10u})
    EXPECT_LT(Sampled(transfer.activities[at_the_link], Resource::kNic, 100'000).deviation, 0.02);
  for (const size_t victim : {18u, 26u})
    EXPECT_GT(Sampled(transfer.activities[victim], Resource::kNic, 100'000).deviation, 0.25);
}

TEST(TransferSignature, SlowNvlinkIsBusiestWithoutRest) {
  const TransferModel model(Fabric{});
  std::vector<MemberLinks> members = Members(8, 8);
  members[3].nvlink = kHalf;
  Transfer transfer;
  model.Collective(CollectiveOperation::kAllReduce, 512 * kMiB, members, {}, true, transfer);
  for (size_t i = 0; i < 8; ++i) {
    const Usage usage = Sampled(transfer.activities[i], Resource::kNvlink, 20'000);
    EXPECT_NEAR(usage.mean, 0.5, 0.02) << i;
    if (i == 3) {
      EXPECT_LT(usage.deviation, 0.02);
    } else {
      EXPECT_GT(usage.deviation, 0.1) << i;
    }
  }
}

// EROICA (NSDI'26), appendix A: who lost NVLink is known by higher PCIe traffic.
TEST(TransferSignature, LostNvlinkShowsAsPcie) {
  const Fabric fabric;
  const TransferModel model(fabric);
  std::vector<MemberLinks> members = Members(16, 8);
  Transfer transfer;
  model.Collective(CollectiveOperation::kAllGather, 512 * kMiB, members, {}, true, transfer);
  const int64_t healthy_ns = transfer.duration_ns;
  members[4].nvlink_over_pcie = true;
  model.Collective(CollectiveOperation::kAllGather, 512 * kMiB, members, {}, true, transfer);
  EXPECT_GT(transfer.duration_ns, 2 * healthy_ns);
  for (size_t i = 0; i < 16; ++i) {
    const Usage pcie = Sampled(transfer.activities[i], Resource::kPcieTx, 100'000);
    if (i == 4) {
      EXPECT_GT(pcie.mean, 0.9);
      EXPECT_EQ(Sampled(transfer.activities[i], Resource::kNvlink, 100'000).mean, 0);
    } else {
      EXPECT_LT(pcie.mean, i == 3 || i == 5 ? 0.6 : 0.001) << i;
    }
  }
}

TEST(Transfer, OneNicCarriesAllRingsOfItsHostsOnlyMember) {
  Transfer transfer;
  const std::vector<MemberLinks> members = Members(8, 1);
  TransferModel(Fabric{.rings = 1})
      .Collective(CollectiveOperation::kAllReduce, 1024 * kMiB, members, {}, true, transfer);
  const int64_t one_ring_ns = transfer.duration_ns;
  TransferModel(Fabric{.rings = 8})
      .Collective(CollectiveOperation::kAllReduce, 1024 * kMiB, members, {}, true, transfer);
  EXPECT_NEAR(static_cast<double>(transfer.duration_ns) / static_cast<double>(one_ring_ns), 1,
              0.02);
  ASSERT_EQ(transfer.activities[0].size(), 1u);
  EXPECT_EQ(transfer.activities[0][0].resource, Resource::kNic);
  EXPECT_NEAR(transfer.activities[0][0].level, 1, 1e-6);
}

TEST(Transfer, MovesAtBusBandwidth) {
  // 1 GiB over 8 rails of 45 GB/s: an all-reduce moves 2 (n - 1) / n of it through each host's
  // NICs.
  const TransferModel model(Fabric{});
  Transfer transfer;
  model.Collective(CollectiveOperation::kAllReduce, 1024 * kMiB, Members(32, 8), {}, false,
                   transfer);
  EXPECT_NEAR(static_cast<double>(transfer.duration_ns), 2.0 * 31 / 32 * 1024 * kMiB / (8 * 45.0),
              0.03 * static_cast<double>(transfer.duration_ns));
}

TEST(Transfer, SlowPathSlowsWhatGoesThatWay) {
  const TransferModel model(Fabric{});
  const std::vector<MemberLinks> members = Members(4, 1);
  const std::vector<PathEffect> on_ring = {{1, 2, kHalf}};
  const std::vector<PathEffect> off_ring = {{1, 3, kHalf}, {2, 1, kHalf}};
  Transfer transfer;
  const auto takes = [&](CollectiveOperation operation, const std::vector<PathEffect>& paths) {
    model.Collective(operation, 256 * kMiB, members, paths, false, transfer);
    return static_cast<double>(transfer.duration_ns);
  };
  const double ring = takes(CollectiveOperation::kAllReduce, {});
  EXPECT_NEAR(takes(CollectiveOperation::kAllReduce, on_ring) / ring, 2, 0.05);
  EXPECT_EQ(takes(CollectiveOperation::kAllReduce, off_ring), ring);
  const double pairwise = takes(CollectiveOperation::kAllToAll, {});
  EXPECT_NEAR(takes(CollectiveOperation::kAllToAll, on_ring) / pairwise, 4.0 / 3, 0.02);
  EXPECT_NEAR(takes(CollectiveOperation::kAllToAll, off_ring) / pairwise, 4.0 / 3, 0.02);
}

TEST(Transfer, AllToAllWaitsForTheSlowestReceiver) {
  const TransferModel model(Fabric{});
  std::vector<MemberLinks> members = Members(16, 8);
  Transfer transfer;
  model.Collective(CollectiveOperation::kAllToAll, 256 * kMiB, members, {}, true, transfer);
  const int64_t healthy_ns = transfer.duration_ns;
  members[5].nic_receive = kHalf;
  model.Collective(CollectiveOperation::kAllToAll, 256 * kMiB, members, {}, true, transfer);
  EXPECT_NEAR(static_cast<double>(transfer.duration_ns) / static_cast<double>(healthy_ns), 2, 0.05);
  EXPECT_NEAR(Sampled(transfer.activities[5], Resource::kNic, 100'000).mean, 0.5, 0.01);
  EXPECT_NEAR(Sampled(transfer.activities[6], Resource::kNic, 100'000).mean, 1, 0.01);
}

TEST(Transfer, SmallAllReducesTakeTheTreeAndBarriersOnlyLatency) {
  const Fabric fabric;
  const TransferModel model(fabric);
  Transfer transfer;
  model.Collective(CollectiveOperation::kBarrier, 0, Members(64, 1), {}, false, transfer);
  EXPECT_EQ(transfer.duration_ns, 12 * fabric.hop_latency_ns);
  model.Collective(CollectiveOperation::kAllReduce, 8, Members(1024, 1), {}, false, transfer);
  EXPECT_NEAR(static_cast<double>(transfer.duration_ns),
              20.0 * static_cast<double>(fabric.hop_latency_ns), 100);
  model.Collective(CollectiveOperation::kAllReduce, 8, Members(8, 8), {}, false, transfer);
  EXPECT_LT(transfer.duration_ns, 2 * 3 * fabric.hop_latency_ns);
}

TEST(Transfer, PointToPointGoesTheWayThatItsEndsHave) {
  const Fabric fabric;
  const TransferModel model(fabric);
  Transfer transfer;
  MemberLinks source{.host = 0};
  MemberLinks destination{.host = 1};
  const auto takes = [&](std::span<const PathEffect> paths) {
    model.PointToPoint(45'000'000, source, destination, paths, true, transfer);
    EXPECT_EQ(transfer.activities[0].size(), 1u);
    EXPECT_EQ(transfer.activities[1].size(), 1u);
    return transfer.duration_ns;
  };
  EXPECT_EQ(takes({}), 1'000'000 + fabric.hop_latency_ns);
  EXPECT_EQ(transfer.activities[0][0].resource, Resource::kNic);
  destination.nic_receive = kHalf;
  EXPECT_EQ(takes({}), 2'000'000 + fabric.hop_latency_ns);
  EXPECT_EQ(transfer.activities[1][0].level, 0.5f);
  const std::vector<PathEffect> quarter = {{0, 1, kUnit / 4}};
  EXPECT_EQ(takes(quarter), 4'000'000 + fabric.hop_latency_ns);
  destination = {.host = 0, .device = 1};
  EXPECT_LT(takes({}), 250'000);
  EXPECT_EQ(transfer.activities[0][0].resource, Resource::kNvlink);
  destination.nvlink_over_pcie = true;
  EXPECT_GT(takes({}), 1'800'000);
  EXPECT_EQ(transfer.activities[0][0].resource, Resource::kPcieTx);
}

TEST(Transfer, KeepsItsRoomBetweenCalls) {
  const TransferModel model(Fabric{});
  const std::vector<MemberLinks> large = Members(64, 8);
  Transfer transfer;
  model.Collective(CollectiveOperation::kAllReduce, 64 * kMiB, large, {}, true, transfer);
  const auto* activities = transfer.activities.data();
  const auto* of_first = transfer.activities[0].data();
  const int64_t duration_ns = transfer.duration_ns;
  model.Collective(CollectiveOperation::kBroadcast, kMiB, Members(8, 8), {}, true, transfer);
  model.Collective(CollectiveOperation::kAllReduce, 64 * kMiB, large, {}, true, transfer);
  EXPECT_EQ(transfer.activities.data(), activities);
  EXPECT_EQ(transfer.activities[0].data(), of_first);
  EXPECT_EQ(transfer.duration_ns, duration_ns);
}

TEST(Transfer, OfOneMemberTakesNoTime) {
  Transfer transfer;
  TransferModel(Fabric{}).Collective(CollectiveOperation::kAllReduce, 64 * kMiB, Members(1, 8), {},
                                     true, transfer);
  EXPECT_EQ(transfer.duration_ns, 0);
}

}  // namespace
}  // namespace eroica::simulate
