// When a finding was seen first and last, over its life.
#include "diagnosis/ledger/seen_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/ledger/finding_lifecycle.h"

namespace eroica {
namespace {

constexpr int64_t kWindowNs = 12'000'000'000;

using ::testing::SizeIs;

// A window of 1,000 ns, of which the job's ranks have seen [7, 990).
Finding SeenIn(int64_t window, const std::vector<int32_t>& ranks = {3}) {
  Finding finding;
  finding.id = "a";
  finding.first_window = finding.last_window = window;
  finding.first_seen_ns = window * kWindowNs + 7;
  finding.last_seen_ns = (window + 1) * kWindowNs;
  for (const int32_t rank : ranks) finding.culprits.push_back({.rank = rank});
  return finding;
}

TEST(SeenTimes, TheEarlierOneThatIsKnown) {
  EXPECT_EQ(EarlierKnown(5, 7), 5);
  EXPECT_EQ(EarlierKnown(7, 5), 5);
  EXPECT_EQ(EarlierKnown(0, 7), 7);
  EXPECT_EQ(EarlierKnown(7, 0), 7);
  EXPECT_EQ(EarlierKnown(0, 0), 0);
}

TEST(SeenTimes, GoFromTheFirstWindowToTheLastInWhichItWasSeen) {
  FindingLifecycle lifecycle;
  EXPECT_EQ(lifecycle.Observe(1, {SeenIn(1)})[0].first_seen_ns, kWindowNs + 7);
  const Finding updated = lifecycle.Observe(2, {SeenIn(2)})[0];
  EXPECT_EQ(updated.first_seen_ns, kWindowNs + 7);
  EXPECT_EQ(updated.last_seen_ns, 3 * kWindowNs);
  lifecycle.Observe(3, {});
  const std::vector<Finding> resolved = lifecycle.Observe(4, {});
  ASSERT_THAT(resolved, SizeIs(1));
  EXPECT_EQ(resolved[0].state, FindingState::kResolved);
  EXPECT_EQ(resolved[0].first_seen_ns, kWindowNs + 7);
  EXPECT_EQ(resolved[0].last_seen_ns, 3 * kWindowNs) << "it was not seen since";
}

TEST(SeenTimes, WhatIsToldInTheWordsOfBeforeIsSeenNow) {
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {SeenIn(1, {3, 7})});
  const Finding narrower = lifecycle.Observe(2, {SeenIn(2)})[0];
  ASSERT_THAT(narrower.culprits, SizeIs(2)) << "as it was published before";
  EXPECT_EQ(narrower.first_seen_ns, kWindowNs + 7);
  EXPECT_EQ(narrower.last_seen_ns, 3 * kWindowNs);
}

// Of before there were times, in the store.
TEST(SeenTimes, ATimeThatNobodyKnowsIsNotTheEarliest) {
  FindingLifecycle lifecycle;
  Finding before = SeenIn(1);
  before.first_seen_ns = before.last_seen_ns = 0;
  lifecycle.Observe(1, {before});
  EXPECT_EQ(lifecycle.Observe(2, {SeenIn(2)})[0].first_seen_ns, 2 * kWindowNs + 7);
}

}  // namespace
}  // namespace eroica
