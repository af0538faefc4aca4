#include "ops/act/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "ops/findings/testing/findings_topic.h"

namespace eroica {
namespace {

using Verdict = Decision::Verdict;
using ::testing::ElementsAre;

constexpr int64_t kDecidedMs = 1'700'000'000'000;

class DecisionTest : public ::testing::Test {
 protected:
  DecisionTest() {
    policy_.actions = {{.name = "spare",
                        .kind = ActionKind::kRestartRankOnSpare,
                        .command = {"/bin/swap", "{rank}"}},
                       {.name = "ticket", .kind = ActionKind::kOpenTicket, .command = {"/bin/t"}}};
    policy_.rules = {{.name = "slow", .action = "spare", .kinds = {FindingKind::kSlowRank}}};
    finding_ = FindingOf("f", FindingState::kUpdated, Severity::kMajor, 5);
    finding_.job = JobId{"train-1"};
    finding_.kind = FindingKind::kSlowRank;
    finding_.subkind = "function";
    finding_.confidence = 0.97;
    finding_.culprits = {{.rank = 3, .host = "node1"}};
    finding_.caveats.clear();
    finding_.world_size = 4;
    finding_.lost_gpu_seconds_per_hour = 3'600;
    finding_.lost_ns_per_step = 20e6;
    finding_.emitted_at_ns = (kDecidedMs - 1'000) * 1'000'000;
    SeenIn({4, 5});
  }

  void SeenIn(std::initializer_list<int64_t> windows) {
    confirmations_.Forget(0);
    for (const int64_t window : windows) {
      Finding version = finding_;
      version.last_window = window;
      confirmations_.Take(0, version);
    }
  }
  void HasActed(int64_t ago_s, const std::string& finding, const std::string& job,
                const std::string& host) {
    history_.Add(
        {.at_ms = kDecidedMs - ago_s * 1'000, .finding_id = finding, .job = job, .hosts = {host}});
  }
  Decision Take() const {
    return Decide(policy_, {.finding = finding_,
                            .confirmations = confirmations_,
                            .history = history_,
                            .is_muted = is_muted_,
                            .now_ms = kDecidedMs});
  }
  // Why nothing is done; "" where something is.
  std::string Why() const { return Take().reason; }
  PolicyRule& rule() { return policy_.rules[0]; }

  Policy policy_;
  Finding finding_;
  Confirmations confirmations_;
  ActionHistory history_;
  bool is_muted_ = false;
};

TEST_F(DecisionTest, WhereAllHoldsTheActionIsTaken) {
  const Decision decision = Take();
  EXPECT_EQ(decision.verdict, Verdict::kAct) << decision.reason;
  EXPECT_THAT(decision.arguments, ElementsAre("/bin/swap", "3"));
}

TEST_F(DecisionTest, ARuleAboutOtherFindingsSaysNothing) {
  const auto verdict = [this](const std::function<void(PolicyRule&)>& change) {
    const PolicyRule before = rule();
    change(rule());
    const Verdict taken = Take().verdict;
    rule() = before;
    return taken;
  };
  EXPECT_EQ(verdict([](PolicyRule& r) { r.kinds = {FindingKind::kHang}; }), Verdict::kNone);
  EXPECT_EQ(verdict([](PolicyRule& r) { r.subkind = "host"; }), Verdict::kNone);
  EXPECT_EQ(verdict([](PolicyRule& r) { r.job = "eval-*"; }), Verdict::kNone);
  EXPECT_EQ(verdict([](PolicyRule& r) { r.job = "train-?"; }), Verdict::kAct);
  EXPECT_EQ(verdict([](PolicyRule& r) { r.kinds = {}; }), Verdict::kAct);
  finding_.state = FindingState::kResolved;
  EXPECT_EQ(Take().verdict, Verdict::kNone);
}

TEST_F(DecisionTest, EachConditionStandsAgainstIt) {
  const auto why = [this](const std::function<void(PolicyRule&)>& change) {
    const PolicyRule before = rule();
    change(rule());
    const std::string reason = Why();
    rule() = before;
    return reason;
  };
  EXPECT_EQ(why([](PolicyRule& r) { r.severity = Severity::kCritical; }),
            "its severity is below critical");
  EXPECT_EQ(why([](PolicyRule& r) { r.confidence = 0.99; }), "its confidence is below 0.99");
  EXPECT_EQ(why([](PolicyRule& r) { r.lost_share = 0.3; }),
            "it costs less than 0.3 of the job's work");
  EXPECT_EQ(why([](PolicyRule& r) { r.lost_share = 0.25; }), "");
  EXPECT_EQ(why([](PolicyRule& r) { r.lost_ms_per_step = 21; }), "it costs less than 21 ms a step");
  EXPECT_EQ(why([](PolicyRule& r) { r.lasting = 3; }), "it has not lasted for 3 windows in a row");
  EXPECT_EQ(why([](PolicyRule& r) { r.quorum_windows = 3; }),
            "it was not seen in 3 of the last 3 windows");
}

TEST_F(DecisionTest, AQuorumMayHaveGapsAndLastingMayNot) {
  SeenIn({3, 5});
  EXPECT_EQ(Why(), "");
  rule().lasting = 2;
  EXPECT_EQ(Why(), "it has not lasted for 2 windows in a row");
}

TEST_F(DecisionTest, AHangIsConfirmedByBeingThere) {
  finding_.kind = FindingKind::kHang;
  rule().kinds = {FindingKind::kHang};
  confirmations_.Forget(0);
  EXPECT_EQ(Why(), "");
}

TEST_F(DecisionTest, WhatCannotTellLeadsToNothingUnlessTheRuleSaysSo) {
  const std::string kUndecided = "it cannot tell who or what is to blame";
  finding_.caveats = {"Undecided: the path or the receiving side of rank 4."};
  EXPECT_EQ(Why(), kUndecided);
  finding_.caveats.clear();
  finding_.subkind = "undecided";
  EXPECT_EQ(Why(), kUndecided);
  rule().undecided = true;
  EXPECT_EQ(Why(), "");
  rule().undecided = false;
  finding_.subkind = "function";
  finding_.culprits.clear();
  EXPECT_EQ(Why(), kUndecided);
}

TEST_F(DecisionTest, GroupsLeadToNothingUnlessTheRuleSaysSo) {
  finding_.culprits = {{.rank = 3, .host = "node1"}, {.rank = 4, .host = "node1"}};
  EXPECT_EQ(Why(), "it names several ranks or hosts");
  rule().groups = true;
  EXPECT_EQ(Why(), "it names no single rank to restart");
  rule().action = "ticket";
  EXPECT_EQ(Why(), "");
}

TEST_F(DecisionTest, NothingIsDoneTwiceNorAboutWhatIsMutedOrOld) {
  HasActed(7'200, "f", "train-1", "node1");
  EXPECT_EQ(Why(), "something has been done about it before");
  history_ = {};
  is_muted_ = true;
  EXPECT_EQ(Why(), "somebody has muted it");
  is_muted_ = false;
  finding_.emitted_at_ns = (kDecidedMs - 901'000) * 1'000'000;
  EXPECT_EQ(Why(), "it is too old");
}

TEST_F(DecisionTest, TheNumberOfActionsIsBounded) {
  HasActed(599, "g", "train-1", "node9");
  EXPECT_EQ(Why(), "the job cools down after an action");
  history_ = {};
  HasActed(601, "g", "train-1", "node9");
  EXPECT_EQ(Why(), "");
  HasActed(601, "h", "train-1", "node8");
  EXPECT_EQ(Why(), "there were as many actions for this job in this hour as there may be");
  history_ = {};
  HasActed(3'599, "g", "other", "node1");
  EXPECT_EQ(Why(), "there were as many actions for this host in this hour as there may be");
  history_ = {};
  for (int i = 0; i < 4; ++i) HasActed(3'599, "g" + std::to_string(i), "other", "node7");
  EXPECT_EQ(Why(), "there were as many actions in this hour as there may be");
  history_ = {};
  for (int i = 0; i < 4; ++i) HasActed(3'601, "g" + std::to_string(i), "other", "node1");
  EXPECT_EQ(Why(), "") << "an hour ago is not in this hour";
}

TEST_F(DecisionTest, TheFirstRuleThatHoldsDecides) {
  policy_.rules.push_back({.name = "ticket", .action = "ticket"});
  EXPECT_EQ(Take().rule->name, "slow");
  rule().confidence = 0.99;
  const Decision decision = Take();
  EXPECT_EQ(decision.verdict, Verdict::kAct);
  EXPECT_EQ(decision.rule->name, "ticket");
}

}  // namespace
}  // namespace eroica
