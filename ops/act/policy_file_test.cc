#include "ops/act/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kWhole = R"([limits]
per_hour = 9
per_job_hour = 3
per_host_hour = 2
cool_down_s = 60
age_s = 30
executables = ["/bin/swap", "/bin/ticket"]

[[action]]
name = "spare"
does = "restart_rank_on_spare"
command = ["/bin/swap", "--job={job}", "{rank}"]
timeout_s = 20

[[rule]]
name = "slow"
action = "spare"
kind = ["slow_rank", "contention"]
subkind = "function"
job = "train-*"
severity = "critical"
confidence = 0.95
lost_share = 0.1
lost_ms_per_step = 5
lasting = 3
quorum = [3, 4]
undecided = true
groups = true
)";

// What is wrong with the text: a line each.
std::string Problems(const std::string& text) {
  const absl::StatusOr<Policy> policy = ReadPolicyText(text, "act.toml");
  EXPECT_TRUE(absl::IsInvalidArgument(policy.status())) << text;
  return std::string(policy.status().message());
}
// The whole one with one line in place of another.
std::string Changed(const std::string& line, const std::string& by) {
  std::string text = kWhole;
  const size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return text.replace(at, line.size(), by);
}

TEST(PolicyFile, ReadsAllThatAPolicySays) {
  const absl::StatusOr<Policy> policy = ReadPolicyText(kWhole, "act.toml");
  ASSERT_TRUE(policy.ok()) << policy.status();
  EXPECT_EQ(policy->limits.per_hour, 9);
  EXPECT_EQ(policy->limits.per_host_hour, 2);
  EXPECT_EQ(policy->limits.cool_down, std::chrono::seconds(60));
  ASSERT_EQ(policy->rules.size(), 1U);
  const PolicyRule& rule = policy->rules[0];
  EXPECT_THAT(rule.kinds, ElementsAre(FindingKind::kSlowRank, FindingKind::kContention));
  EXPECT_EQ(rule.severity, Severity::kCritical);
  EXPECT_EQ(rule.quorum_windows, 3);
  EXPECT_EQ(rule.quorum_of, 4);
  EXPECT_TRUE(rule.undecided);
  const PolicyAction* action = policy->FindAction(rule.action);
  ASSERT_NE(action, nullptr);
  EXPECT_EQ(action->kind, ActionKind::kRestartRankOnSpare);
  EXPECT_THAT(action->command, ElementsAre("/bin/swap", "--job={job}", "{rank}"));
}

TEST(PolicyFile, WhatIsUnknownIsNamedWithItsLineAndTheNearestName) {
  EXPECT_EQ(Problems(Changed("lasting = 3", "lasing = 3")),
            "act.toml:25: unknown key 'lasing' of rule; did you mean 'lasting'?");
  EXPECT_THAT(Problems(Changed("per_hour = 9", "per_our = 9")),
              HasSubstr("act.toml:2: unknown key 'per_our' of limits; did you mean 'per_hour'?"));
  EXPECT_THAT(Problems(Changed("[limits]", "[limit]")),
              HasSubstr("act.toml:1: unknown key 'limit' of the policy; did you mean 'limits'?"));
  EXPECT_THAT(Problems(Changed(R"(action = "spare")", R"(action = "spar")")),
              HasSubstr("rule.action is 'spar', but must be one of spare; did you mean 'spare'?"));
  EXPECT_THAT(Problems(Changed("\"contention\"]", "\"contentoin\"]")),
              HasSubstr("did you mean 'contention'?"));
  EXPECT_THAT(Problems(Changed(R"("{rank}")", R"("{ranck}")")),
              HasSubstr("there is no {ranck}; did you mean {rank}?"));
}

TEST(PolicyFile, WhatCannotBeIsNamedWithWhatIsAllowed) {
  EXPECT_THAT(Problems(Changed("lasting = 3", "lasting = 0")),
              HasSubstr("act.toml:25: rule.lasting must be a whole number from 1 to 64"));
  EXPECT_THAT(Problems(Changed("quorum = [3, 4]", "quorum = [4, 3]")),
              HasSubstr("1 <= N <= M <= 64"));
  EXPECT_THAT(Problems(Changed("confidence = 0.95", "confidence = \"high\"")),
              HasSubstr("rule.confidence must be 0 to 1"));
  EXPECT_THAT(Problems(Changed("undecided = true", "undecided = 1")),
              HasSubstr("rule.undecided must be true or false"));
  EXPECT_THAT(Problems(Changed("timeout_s = 20", "timeout_s = 9999")),
              HasSubstr("action.timeout_s must be a whole number from 1 to 240"));
  EXPECT_THAT(Problems("rules = 1"), HasSubstr("did you mean 'rule'?"));
  EXPECT_THAT(Problems("[limits]\n"), HasSubstr("there is no [[rule]] in it"));
  EXPECT_THAT(Problems("[limits\n"), HasSubstr("act.toml:1: no TOML"));
}

TEST(PolicyFile, ACommandThatIsNotAllowedIsRefused) {
  EXPECT_THAT(Problems(Changed("\"/bin/swap\", \"/bin/ticket\"", "\"/bin/ticket\"")),
              HasSubstr("begins with '/bin/swap', which is not in limits.executables"));
  EXPECT_THAT(Problems(Changed("\"/bin/ticket\"", "\"ticket\"")),
              HasSubstr("'ticket' is no absolute path"));
}

TEST(PolicyFile, AllProblemsAreReportedAtOnce) {
  const std::string problems = Problems("[limits]\nper_our = 1\n[[rule]]\nnmae = \"x\"\n");
  EXPECT_THAT(problems, HasSubstr("per_our"));
  EXPECT_THAT(problems, HasSubstr("nmae"));
  EXPECT_THAT(problems, HasSubstr("rule needs action"));
}

}  // namespace
}  // namespace eroica
