#include "ops/cli/finding_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kNoonNs = 1'800'000'000'000'000'000;

Finding SlowRank() {
  Finding finding;
  finding.id = "a";
  finding.job = JobId{"night"};
  finding.kind = FindingKind::kSlowRank;
  finding.severity = Severity::kMajor;
  finding.culprits = {{.rank = 3}, {.rank = 7}};
  finding.last_seen_ns = kNoonNs;
  finding.emitted_at_ns = kNoonNs + 5'000'000'000;
  return finding;
}

TEST(FindingFilter, WithoutAnythingWantsEverything) {
  EXPECT_TRUE(FindingFilter().Wants(SlowRank()));
  EXPECT_TRUE(FindingFilter().Wants(Finding()));
}

TEST(FindingFilter, EachPartLeavesOutWhatItSays) {
  const Finding finding = SlowRank();
  Finding resolved = finding;
  resolved.state = FindingState::kResolved;
  EXPECT_TRUE(FindingFilter{.job = "night"}.Wants(finding));
  EXPECT_FALSE(FindingFilter{.job = "day"}.Wants(finding));
  EXPECT_TRUE(FindingFilter{.least = Severity::kMajor}.Wants(finding));
  EXPECT_FALSE(FindingFilter{.least = Severity::kCritical}.Wants(finding));
  EXPECT_TRUE(FindingFilter{.only_open = true}.Wants(finding));
  EXPECT_FALSE(FindingFilter{.only_open = true}.Wants(resolved));
  EXPECT_TRUE(FindingFilter{.rank = 7}.Wants(finding));
  EXPECT_FALSE(FindingFilter{.rank = 4}.Wants(finding));
  FindingFilter kinds;
  kinds.kinds = {FindingKind::kHang, FindingKind::kSlowRank};
  EXPECT_TRUE(kinds.Wants(finding));
  kinds.kinds = {FindingKind::kHang};
  EXPECT_FALSE(kinds.Wants(finding));
}

TEST(FindingFilter, SinceIsByTheTimeOfTheJobAndByWhenItWasSaidWhereThatIsNotKnown) {
  Finding finding = SlowRank();
  EXPECT_TRUE(FindingFilter{.since_ms = kNoonNs / 1'000'000}.Wants(finding));
  EXPECT_FALSE(FindingFilter{.since_ms = kNoonNs / 1'000'000 + 1}.Wants(finding));
  finding.last_seen_ns = 12'000;
  EXPECT_TRUE(FindingFilter{.since_ms = kNoonNs / 1'000'000 + 1}.Wants(finding));
}

TEST(SortByWeight, OpenThenGraveThenDear) {
  std::vector<Finding> findings(5);
  const auto set = [&](size_t i, const char* id, Severity severity, double lost) {
    findings[i].id = id;
    findings[i].severity = severity;
    findings[i].lost_ns_per_step = lost;
  };
  set(0, "resolved", Severity::kCritical, 9);
  findings[0].state = FindingState::kResolved;
  set(1, "cheap", Severity::kMajor, 1);
  set(2, "dear", Severity::kMajor, 2);
  set(3, "minor", Severity::kMinor, 7);
  set(4, "grave", Severity::kCritical, 0);
  SortByWeight(&findings);
  std::vector<std::string> order;
  for (const Finding& finding : findings) order.push_back(finding.id);
  EXPECT_THAT(order, ElementsAre("grave", "dear", "cheap", "minor", "resolved"));
}

}  // namespace
}  // namespace eroica
