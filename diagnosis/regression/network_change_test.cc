#include "diagnosis/regression/network_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "diagnosis/measurements/job_profile.h"
#include "diagnosis/measurements/training_view.h"
#include "diagnosis/regression/regression_operator.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Network {
  double ring = 45;    // GB/s, between hosts
  double pairs = 180;  // between the ranks of a host
  double wait_ms = 5;  // for peers, of a step
};

// Four hosts of two ranks: rings over the hosts, pairs within.
class NetworkWindow {
 public:
  explicit NetworkWindow(const Network& network) : job_(8) {
    job_.RunOnAll("gemm", 60, "", FunctionClass::kGpuCompute);
    CollectiveSummary& all = job_.AddSummary();
    for (uint32_t rank = 0; rank < 8; ++rank) {
      all.members.push_back({.rank = RankId{rank}});
      job_.batches()[rank].host = "host" + std::to_string(rank / 2);
      Connect(rank, (rank + 2) % 8, network.ring, Resource::kNic);
      Connect(rank, rank ^ 1, network.pairs, Resource::kNvlink);
    }
    job_.Finish();
    for (PatternBatch& batch : job_.batches()) {
      for (StepRecord& step : batch.steps) {
        step.duration_ns += static_cast<int64_t>(network.wait_ms * kNsPerMs);
        step.peer_wait_ns += static_cast<int64_t>(network.wait_ms * kNsPerMs);
      }
    }
  }
  NetworkWindow& OnOneHost() {
    for (PatternBatch& batch : job_.batches()) batch.host = "host";
    return *this;
  }
  NetworkWindow& Connect(uint32_t source, uint32_t peer, double speed, Resource resource) {
    constexpr uint64_t kBytes = 800'000'000;  // of eight steps
    std::vector<ConnectionPattern>& rows = job_.batches()[source].connections;
    std::erase_if(rows, [&](const ConnectionPattern& row) {
      return row.peer == peer && row.resource == resource;
    });
    rows.push_back({.peer = peer,
                    .resource = resource,
                    .bytes = kBytes,
                    .busy_ns = static_cast<int64_t>(kBytes / speed),
                    .channels = 1,
                    .communicator = CommId{1}});
    return *this;
  }
  CrossRankView View(std::span<const PatternBatch> history = {}) {
    return {job_.batches(), job_.summaries(), {.profiles = history}};
  }

 private:
  TrainingView job_;
};

std::vector<PatternBatch> Profiles(const std::vector<Network>& windows) {
  std::vector<PatternBatch> profiles;
  for (const Network& network : windows)
    profiles.push_back(NetworkWindow(network).View().profile());
  return profiles;
}

// Of the last of these windows.
std::optional<NetworkChange> ChangeIn(const std::vector<Network>& windows) {
  const std::vector<PatternBatch> profiles = Profiles(windows);
  return FindNetworkChange(std::span(profiles).first(profiles.size() - 1), profiles.back(), {});
}

TEST(NetworkChange, ANetworkThatHasBecomeSlowerIsSeenInTheSpeedOfItsConnections) {
  const std::optional<NetworkChange> change =
      ChangeIn({{}, {}, {}, {.ring = 25, .wait_ms = 6}, {.ring = 26, .wait_ms = 6}});
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->resource, Resource::kNic);
  EXPECT_NEAR(change->past_speed, 45, 0.1);
  EXPECT_NEAR(change->now_speed, 26, 0.1) << "the better one of two windows";
  EXPECT_NEAR(change->wait_ns, 1.0 * kNsPerMs, 1e4);
}

TEST(NetworkChange, OneWindowIsNoChange) {
  EXPECT_FALSE(ChangeIn({{}, {}, {}, {}, {.ring = 25, .wait_ms = 6}}));
}

TEST(NetworkChange, TwoWindowsOfThePastAreTheLeast) {
  EXPECT_FALSE(ChangeIn({{}, {.ring = 25, .wait_ms = 6}, {.ring = 25, .wait_ms = 6}}));
  EXPECT_TRUE(ChangeIn({{}, {}, {.ring = 25, .wait_ms = 6}, {.ring = 25, .wait_ms = 6}}));
}

TEST(NetworkChange, WhatWasAsSlowBeforeIsNoChange) {
  EXPECT_FALSE(ChangeIn({{},
                         {.ring = 25, .wait_ms = 6},
                         {},
                         {},
                         {.ring = 25, .wait_ms = 6},
                         {.ring = 25, .wait_ms = 6}}));
}

TEST(NetworkChange, ASpeedThatVariesSaysLess) {
  EXPECT_FALSE(ChangeIn({{.ring = 45},
                         {.ring = 35},
                         {.ring = 50},
                         {.ring = 40},
                         {.ring = 30, .wait_ms = 6},
                         {.ring = 30, .wait_ms = 6}}));
}

TEST(NetworkChange, WhatCostsNothingIsNotTold) {
  EXPECT_FALSE(ChangeIn({{}, {}, {}, {.ring = 25}, {.ring = 25}}));
}

TEST(NetworkChange, NvlinkIsANetworkToo) {
  const std::optional<NetworkChange> change =
      ChangeIn({{}, {}, {}, {.pairs = 90, .wait_ms = 6}, {.pairs = 90, .wait_ms = 6}});
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->resource, Resource::kNvlink);
}

TEST(NetworkChange, OneSlowNicIsNotTheNetwork) {
  std::vector<PatternBatch> history = Profiles({{}, {}, {}});
  NetworkWindow window({.wait_ms = 9});
  window.Connect(2, 4, 20, Resource::kNic).Connect(0, 2, 20, Resource::kNic);
  history.push_back(window.View().profile());
  EXPECT_FALSE(FindNetworkChange(history, window.View().profile(), {}));
}

TEST(NetworkChange, CollectivesTakeLongerBehindAsFastANetwork) {
  const auto is_as_fast = [](const Network& now) {
    const std::vector<PatternBatch> past = Profiles({{}, {}, {}});
    return IsNetworkAsFast(past, Profiles({now}).front(), 0.1);
  };
  EXPECT_TRUE(is_as_fast({.wait_ms = 9})) << "somebody is slow";
  EXPECT_TRUE(is_as_fast({.ring = 44}));
  EXPECT_FALSE(is_as_fast({.ring = 42}));
  EXPECT_FALSE(is_as_fast({.pairs = 160}));
  std::vector<PatternBatch> unknown = Profiles({{}, {}});
  for (PatternBatch& profile : unknown) profile.connections.clear();
  EXPECT_FALSE(IsNetworkAsFast(std::span(unknown).first(1), unknown.back(), 0.1)) << "nobody knows";
}

TEST(NetworkChange, NoNicLiesBetweenTheRanksOfOneHost) {
  const std::vector<PatternBatch> history = Profiles({{}, {}, {}, {.ring = 25, .wait_ms = 6}});
  std::vector<Finding> findings;
  NetworkWindow last({.ring = 25, .wait_ms = 6});
  RegressionOperator().Evaluate(last.OnOneHost().View(history), findings);
  EXPECT_THAT(findings, IsEmpty());
}

TEST(NetworkChange, TheOperatorNamesNobody) {
  const std::vector<PatternBatch> history = Profiles({{}, {}, {}, {.ring = 25, .wait_ms = 6}});
  std::vector<Finding> findings;
  NetworkWindow last({.ring = 25, .wait_ms = 6});
  RegressionOperator().Evaluate(last.View(history), findings);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kCommunication);
  EXPECT_EQ(findings[0].subkind, "everywhere");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_GT(findings[0].lost_ns_per_step, 0);
}

}  // namespace
}  // namespace eroica
