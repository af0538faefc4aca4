#include "schemas/finding_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "schemas/example_payloads.h"

namespace eroica {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FindingJson, HoldsEveryFieldUnderItsName) {
  const json object = json::parse(ToJson(ExampleFinding()));
  EXPECT_EQ(object["id"], ExampleFinding().id);
  EXPECT_EQ(object["job"], "llm-70b");
  EXPECT_EQ(object["kind"], "imbalance");
  EXPECT_EQ(object["subkind"], "data");
  EXPECT_EQ(object["severity"], "major");
  EXPECT_EQ(object["state"], "updated");
  EXPECT_EQ(object["confidence"], 0.875);
  EXPECT_EQ(object["function"], "queue.py:get");
  EXPECT_EQ(object["function_class"], "python");
  EXPECT_EQ(object["culprits"][0],
            json({{"rank", 0}, {"host", "node-0017"}, {"device", 3}, {"peer", 2}}));
  EXPECT_EQ(object["victims"].size(), 2u);
  EXPECT_EQ(object["victims"][0]["lost_ns"], 4'000'000'000);
  EXPECT_EQ(object["evidence"][0]["peers"], 0.01);
  EXPECT_EQ(object["chain"][1]["rank"], -1);
  EXPECT_EQ(object["steps"], json({{"first", 70}, {"last", 99}}));
  EXPECT_EQ(object["windows"], json({{"first", 7}, {"last", 9}}));
  EXPECT_EQ(object["data_quality"]["events_lost"], 80'000);
  EXPECT_EQ(object["operator"], json({{"name", "differential"}, {"version", "1"}}));
  EXPECT_EQ(object["replay_id"], "replay-5");
  EXPECT_EQ(object["emitted_at_ns"], 1'700'000'012'000'000'000);
  EXPECT_EQ(object["emitted_at"], "2023-11-14T22:13:32.000Z");
  EXPECT_EQ(object["first_seen"], "2023-11-14T22:13:00.000Z");
  EXPECT_EQ(object["last_seen"], "2023-11-14T22:13:30.250Z");
}

TEST(FindingJson, LeavesOutWhatACulpritIsNot) {
  Finding finding = ExampleFinding();
  finding.culprits = {{.rank = -1, .host = "node-9"}};
  EXPECT_THAT(ToJson(finding), HasSubstr(R"("culprits":[{"host":"node-9"}])"));
}

TEST(FindingJson, LeavesOutTimesThatNobodyKnows) {
  Finding finding = ExampleFinding();
  finding.first_seen_ns = finding.last_seen_ns = finding.emitted_at_ns = 0;
  EXPECT_THAT(ToJson(finding), AllOf(Not(HasSubstr("first_seen")), Not(HasSubstr("last_seen")),
                                     Not(HasSubstr("emitted_at\""))));
}

TEST(FindingJson, IsEqualForTwoRunsButForTheClock) {
  Finding later = ExampleFinding();
  later.emitted_at_ns += 1;
  EXPECT_NE(ToJson(ExampleFinding()), ToJson(later));
  EXPECT_EQ(ToJson(ExampleFinding(), JsonTimes::kOmit), ToJson(later, JsonTimes::kOmit));
  EXPECT_THAT(ToJson(later, JsonTimes::kOmit), Not(HasSubstr("emitted_at")));
}

TEST(FindingJson, StaysValidWhateverTheNames) {
  Finding finding = ExampleFinding();
  finding.function = "quote \" backslash \\ newline \n broken utf-8 \xff";
  EXPECT_EQ(json::parse(ToJson(finding))["function"],
            "quote \" backslash \\ newline \n broken utf-8 \xef\xbf\xbd");
}

TEST(Finding, TheIdDependsOnTheIdentityOnly) {
  const Finding finding = ExampleFinding();
  Finding other = finding;
  other.confidence = 0.1;
  other.state = FindingState::kResolved;
  other.first_window = other.last_window = 99;
  other.title = "another sentence";
  EXPECT_EQ(FindingId(other), FindingId(finding));
  EXPECT_EQ(FindingId(finding).size(), 32u);
}

TEST(Finding, EveryPartOfTheIdentityChangesTheId) {
  std::set<std::string> ids = {FindingId(ExampleFinding())};
  const auto insert = [&ids](auto change) {
    Finding finding = ExampleFinding();
    change(finding);
    EXPECT_TRUE(ids.insert(FindingId(finding)).second);
  };
  insert([](Finding& f) { f.job = JobId("other"); });
  insert([](Finding& f) { f.kind = FindingKind::kHang; });
  insert([](Finding& f) { f.subkind = "expert"; });
  insert([](Finding& f) { f.culprits[0].rank = 5; });
  insert([](Finding& f) { f.culprits[0].peer = 5; });
  insert([](Finding& f) { f.culprits[0].host = "node-2"; });
  insert([](Finding& f) { f.culprits.clear(); });
  insert([](Finding& f) { f.function = "f"; });
  insert([](Finding& f) { f.stack = "s"; });
}

TEST(Finding, EveryKindStateAndSeverityHasAName) {
  std::set<std::string_view> names;
  for (int i = 0; i < kFindingKindCount; ++i) names.insert(ToString(static_cast<FindingKind>(i)));
  for (int i = 0; i < kFindingStateCount; ++i) names.insert(ToString(static_cast<FindingState>(i)));
  for (int i = 0; i < kSeverityCount; ++i) names.insert(ToString(static_cast<Severity>(i)));
  EXPECT_EQ(names.size(),
            static_cast<size_t>(kFindingKindCount + kFindingStateCount + kSeverityCount));
  EXPECT_EQ(names.count("unknown"), 0u);
}

}  // namespace
}  // namespace eroica
