#include "ops/alerts/alert_ledger.h"

#include <gtest/gtest.h>

#include "ops/findings/testing/findings_topic.h"

namespace eroica {
namespace {

TEST(AlertLedger, OpenedGraverAndResolvedAreNewsAndNothingElse) {
  AlertLedger ledger(Severity::kMinor);
  const auto take = [&](FindingState state, Severity severity) {
    return ledger.Take(0, FindingOf("a", state, severity));
  };
  EXPECT_EQ(take(FindingState::kOpened, Severity::kMinor), AlertNews::kOpened);
  EXPECT_EQ(take(FindingState::kOpened, Severity::kMinor), AlertNews::kNone) << "a second copy";
  EXPECT_EQ(take(FindingState::kUpdated, Severity::kCritical), AlertNews::kRaised);
  EXPECT_EQ(take(FindingState::kUpdated, Severity::kMajor), AlertNews::kNone);
  EXPECT_EQ(take(FindingState::kUpdated, Severity::kCritical), AlertNews::kNone)
      << "it was as grave before";
  EXPECT_EQ(take(FindingState::kResolved, Severity::kCritical), AlertNews::kResolved);
  EXPECT_EQ(take(FindingState::kResolved, Severity::kCritical), AlertNews::kNone);
  EXPECT_EQ(take(FindingState::kOpened, Severity::kMinor), AlertNews::kOpened) << "it came back";
}

TEST(AlertLedger, WhatIsBelowTheLeastSeverityOpensWhenItReachesIt) {
  AlertLedger ledger(Severity::kMajor);
  EXPECT_EQ(ledger.Take(0, FindingOf("a", FindingState::kOpened, Severity::kMinor)),
            AlertNews::kNone);
  EXPECT_EQ(ledger.Take(0, FindingOf("a", FindingState::kUpdated, Severity::kMajor)),
            AlertNews::kOpened);
  EXPECT_EQ(ledger.Take(0, FindingOf("b", FindingState::kResolved, Severity::kMajor)),
            AlertNews::kNone)
      << "nobody was alerted of it";
}

TEST(AlertLedger, OfAPartitionThatGoesNothingIsKept) {
  AlertLedger ledger(Severity::kInfo);
  ledger.Take(0, FindingOf("a", FindingState::kOpened));
  ledger.Take(1, FindingOf("b", FindingState::kOpened));
  ledger.Forget(0);
  EXPECT_EQ(ledger.size(), 1U);
  EXPECT_EQ(ledger.Take(0, FindingOf("a", FindingState::kUpdated)), AlertNews::kOpened);
}

}  // namespace
}  // namespace eroica
