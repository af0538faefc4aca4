#include "tests/evaluation/score/verdict.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace eroica {
namespace {

Finding Says(FindingKind kind, std::vector<Culprit> culprits, std::string function = "gemm") {
  Finding finding;
  finding.kind = kind;
  finding.culprits = std::move(culprits);
  finding.function = std::move(function);
  finding.last_window = 9;
  return finding;
}

SaidFinding SaidAt(int64_t window, Finding finding) {
  return {.finding = std::move(finding), .opened_window = window};
}

Truth SlowRank5() {
  Truth truth;
  truth.expected = {
      .kinds = {FindingKind::kSlowRank}, .ranks = {5}, .functions = {"gemm", "flash"}};
  truth.first_window = 2;
  return truth;
}

// One line of the truth table: one expected finding, one that was said.
struct Line {
  std::string name;
  ExpectedFinding expected;
  Finding said;
  bool found = false;
  bool rank = false;
  bool function = false;
  bool kind = false;
};

void PrintTo(const Line& line, std::ostream* out) { *out << line.name; }

const ExpectedFinding kRank5{
    .kinds = {FindingKind::kSlowRank}, .ranks = {5}, .functions = {"gemm", "flash"}};
const ExpectedFinding kRanks45{.kinds = {FindingKind::kSlowRank}, .ranks = {4, 5}};
const ExpectedFinding kHost1{
    .kinds = {FindingKind::kSlowRank}, .ranks = {8, 9, 10}, .hosts = {"host-1"}};
const ExpectedFinding kHostOnly{.kinds = {FindingKind::kContention}, .hosts = {"host-1"}};
const ExpectedFinding kNobody{.kinds = {FindingKind::kImbalance, FindingKind::kRegression}};
const ExpectedFinding kLink{.kinds = {FindingKind::kCommunication}, .ranks = {3}, .peer_rank = 17};

Finding WithStack(Finding finding, std::string stack) {
  finding.stack = std::move(stack);
  return finding;
}

std::vector<Line> TruthTable() {
  using enum FindingKind;
  const std::string conv = "conv";
  return {
      {"all_right", kRank5, Says(kSlowRank, {{.rank = 5}}), true, true, true, true},
      {"part_of_the_stack", kRank5,
       WithStack(Says(kSlowRank, {{.rank = 5}}, conv), "train > flash_attention"), true, true, true,
       true},
      {"wrong_function", kRank5, Says(kSlowRank, {{.rank = 5}}, conv), true, true, false, true},
      {"a_link_to_the_rank", kRank5, Says(kCommunication, {{.rank = 13, .peer = 5}}), true, false,
       true, false},
      {"a_link_elsewhere", kRank5, Says(kCommunication, {{.rank = 13, .peer = 4}}), false, false,
       false, false},
      {"wrong_kind", kRank5, Says(kContention, {{.rank = 5}}), true, true, true, false},
      {"wrong_rank", kRank5, Says(kSlowRank, {{.rank = 6}}), false, false, false, false},
      {"one_too_many", kRank5, Says(kSlowRank, {{.rank = 5}, {.rank = 6}}), true, false, true,
       true},
      {"one_too_few", kRanks45, Says(kSlowRank, {{.rank = 5}}), true, false, true, true},
      {"order_is_nothing", kRanks45, Says(kSlowRank, {{.rank = 5}, {.rank = 4}}), true, true, true,
       true},
      {"nobody_named_right_kind", kRank5, Says(kSlowRank, {}), true, false, true, true},
      {"nobody_named_wrong_kind", kRank5, Says(kImbalance, {}), false, false, false, false},
      {"only_that_steps_are_slow", kRank5, Says(kStepTime, {}), true, false, true, false},
      {"some_ranks_of_the_host", kHost1, Says(kSlowRank, {{.rank = 8, .host = "host-1"}}), true,
       true, true, true},
      {"the_host_without_a_rank", kHost1, Says(kSlowRank, {{.host = "host-1"}}), true, true, true,
       true},
      {"another_rank_of_the_host", kHost1, Says(kSlowRank, {{.rank = 11, .host = "host-1"}}), false,
       false, false, false},
      {"two_hosts", kHost1,
       Says(kSlowRank, {{.rank = 8, .host = "host-1"}, {.rank = 0, .host = "host-0"}}), true, false,
       true, true},
      {"any_rank_of_the_host", kHostOnly, Says(kContention, {{.rank = 12, .host = "host-1"}}), true,
       true, true, true},
      {"host_and_another", kHostOnly, Says(kContention, {{.host = "host-1"}, {.host = "host-2"}}),
       true, false, true, true},
      {"another_host", kHostOnly, Says(kContention, {{.rank = 12, .host = "host-2"}}), false, false,
       false, false},
      {"nobody_to_blame", kNobody, Says(kRegression, {}), true, true, true, true},
      {"nobody_to_blame_wrong_kind", kNobody, Says(kCommunication, {}), true, true, true, false},
      {"somebody_blamed", kNobody, Says(kImbalance, {{.rank = 5}}), false, false, false, false},
      {"the_link", kLink, Says(kCommunication, {{.rank = 3, .peer = 17}}), true, true, true, true},
      {"the_link_from_the_other_end", kLink, Says(kCommunication, {{.rank = 17, .peer = 3}}), true,
       true, true, true},
      {"other_ranks_of_the_hosts", kLink, Says(kCommunication, {{.rank = 1, .peer = 16}}), true,
       true, true, true},
      {"one_end", kLink, Says(kCommunication, {{.rank = 3}}), true, false, true, true},
      {"the_peer_alone", kLink, Says(kSlowRank, {{.rank = 17}}), true, false, true, false},
      {"another_link_of_the_rank", kLink, Says(kCommunication, {{.rank = 3, .peer = 9}}), true,
       false, true, true},
      {"another_link", kLink, Says(kCommunication, {{.rank = 8, .peer = 25}}), false, false, false,
       false},
      {"the_link_and_another", kLink,
       Says(kCommunication, {{.rank = 3, .peer = 17}, {.rank = 8, .peer = 25}}), true, false, true,
       true},
  };
}

class VerdictLine : public ::testing::TestWithParam<Line> {};

TEST_P(VerdictLine, IsJudged) {
  const Line& line = GetParam();
  const std::vector<Truth> truths = {{.expected = line.expected}};
  const std::vector<SaidFinding> said = {SaidAt(0, line.said)};
  const RunVerdict verdict = Judge(truths, said, 8);
  const TruthVerdict& truth = verdict.truths.at(0);
  EXPECT_EQ(truth.found(), line.found);
  EXPECT_EQ(truth.agreement.rank, line.rank);
  EXPECT_EQ(truth.agreement.function, line.function);
  EXPECT_EQ(truth.agreement.kind, line.kind);
  EXPECT_EQ(verdict.false_findings(), line.found ? 0u : 1u);
  EXPECT_EQ(verdict.right(), line.rank && line.function && line.kind);
  EXPECT_EQ(truth.windows, line.rank && line.function ? 1 : -1);
}

INSTANTIATE_TEST_SUITE_P(TruthTable, VerdictLine, ::testing::ValuesIn(TruthTable()),
                         [](const auto& line) { return line.param.name; });

// A NIC that sends slowly from rank 3 to rank 11 on a ring: no measurement tells it from one that
// receives slowly there, nor from the path between.
ExpectedFinding EitherEnd() {
  ExpectedFinding expected{.kinds = {FindingKind::kCommunication}, .ranks = {3}};
  expected.alternatives = {{.kinds = {FindingKind::kCommunication}, .ranks = {11}},
                           {.kinds = {FindingKind::kCommunication}, .ranks = {3}, .peer_rank = 11}};
  return expected;
}

TEST(Verdict, OfSeveralCausesThatLookTheSameEachIsRight) {
  const std::vector<Truth> truths = {{.expected = EitherEnd()}};
  const auto judged = [&truths](std::vector<Culprit> culprits, FindingKind kind) {
    const std::vector<SaidFinding> said = {SaidAt(0, Says(kind, std::move(culprits)))};
    return Judge(truths, said, 8);
  };
  constexpr auto kRight = FindingKind::kCommunication;
  EXPECT_TRUE(judged({{.rank = 3}}, kRight).right());
  EXPECT_TRUE(judged({{.rank = 11}}, kRight).right());
  EXPECT_TRUE(judged({{.rank = 11, .peer = 3}}, kRight).right());
  EXPECT_FALSE(judged({{.rank = 3}, {.rank = 11}}, kRight).right()) << "one of them, not both";
  EXPECT_TRUE(judged({{.rank = 3}, {.rank = 11}}, kRight).truths[0].found());
  EXPECT_FALSE(judged({{.rank = 11}}, FindingKind::kSlowRank).right());
  EXPECT_EQ(judged({{.rank = 12}}, kRight).false_findings(), 1u);
}

TEST(Verdict, AnAlternativeMayBeAnotherCause) {
  ExpectedFinding expected{.kinds = {FindingKind::kSlowRank}, .ranks = {5}, .functions = {"gemm"}};
  expected.alternatives = {{.kinds = {FindingKind::kImbalance}}};
  const std::vector<Truth> truths = {{.expected = expected}};
  std::vector<SaidFinding> said = {SaidAt(0, Says(FindingKind::kImbalance, {}, "conv"))};
  EXPECT_TRUE(Judge(truths, said, 8).right());
  said = {SaidAt(0, Says(FindingKind::kSlowRank, {{.rank = 5}}, "conv"))};
  EXPECT_FALSE(Judge(truths, said, 8).right()) << "the function goes with its cause";
}

TEST(Verdict, WhatIsOptionalNeedNotBeSaidAndMustBeRight) {
  ExpectedFinding expected = kNobody;
  expected.optional = true;
  const std::vector<Truth> truths = {{.expected = expected}};
  EXPECT_TRUE(Judge(truths, {}, 8).right());
  EXPECT_TRUE(Judge(truths, {}, 8).quiet());
  std::vector<SaidFinding> said = {SaidAt(0, Says(FindingKind::kImbalance, {}))};
  EXPECT_TRUE(Judge(truths, said, 8).right());
  EXPECT_TRUE(Judge(truths, said, 8).quiet());
  said = {SaidAt(0, Says(FindingKind::kCommunication, {}))};
  EXPECT_EQ(Judge(truths, said, 8).false_findings(), 1u) << "of another kind";
  said = {SaidAt(0, Says(FindingKind::kImbalance, {{.rank = 5}}))};
  EXPECT_EQ(Judge(truths, said, 8).false_findings(), 1u) << "somebody is blamed";
}

TEST(Verdict, OfAKindOnlyTheExpectedSubkindsAreRight) {
  ExpectedFinding expected{.kinds = {FindingKind::kImbalance}, .subkinds = {"varying"}};
  SaidFinding said = SaidAt(0, Says(FindingKind::kImbalance, {}));
  said.finding.subkind = "data";
  const auto judged = [&] {
    const std::vector<Truth> truths = {{.expected = expected}};
    return Judge(truths, std::vector<SaidFinding>{said}, 8);
  };
  EXPECT_TRUE(judged().truths[0].found());
  EXPECT_FALSE(judged().right());
  expected.optional = true;
  EXPECT_EQ(judged().false_findings(), 1u);
  said.finding.subkind = "varying";
  EXPECT_EQ(judged().false_findings(), 0u);
  expected.optional = false;
  EXPECT_TRUE(judged().right());
}

TEST(Verdict, BesideAFaultWhatIsOptionalIsNoFault) {
  Truth optional{.expected = kNobody};
  optional.expected.optional = true;
  const std::vector<Truth> truths = {SlowRank5(), optional};
  const std::vector<SaidFinding> said = {SaidAt(2, Says(FindingKind::kSlowRank, {{.rank = 5}}))};
  EXPECT_TRUE(Judge(truths, said, 8).right());
  EXPECT_FALSE(Judge(truths, said, 8).quiet());
  EXPECT_FALSE(Judge(truths, {}, 8).right());
}

TEST(Verdict, OfAHealthyJob) {
  EXPECT_TRUE(Judge({}, {}, 8).right());
  const std::vector<SaidFinding> said = {SaidAt(0, Says(FindingKind::kSlowRank, {{.rank = 5}}))};
  const RunVerdict verdict = Judge({}, said, 8);
  EXPECT_FALSE(verdict.right());
  EXPECT_EQ(verdict.false_findings(), 1u);
}

TEST(Verdict, SilenceIsAMiss) {
  const std::vector<Truth> truths = {SlowRank5()};
  const RunVerdict verdict = Judge(truths, {}, 8);
  EXPECT_FALSE(verdict.right());
  EXPECT_FALSE(verdict.truths[0].found());
  EXPECT_EQ(verdict.false_findings(), 0u);
}

TEST(Verdict, TheBestFindingCountsAndOthersRepeat) {
  const std::vector<Truth> truths = {SlowRank5()};
  const std::vector<SaidFinding> said = {
      SaidAt(3, Says(FindingKind::kContention, {{.rank = 5}})),
      SaidAt(4, Says(FindingKind::kSlowRank, {{.rank = 5}})),
      SaidAt(3, Says(FindingKind::kSlowRank, {{.rank = 5}, {.rank = 6}}))};
  const RunVerdict verdict = Judge(truths, said, 8);
  EXPECT_EQ(verdict.truths[0].said, 1);
  EXPECT_TRUE(verdict.right());
  EXPECT_EQ(verdict.repetitions(), 2u);
  EXPECT_EQ(verdict.truths[0].windows, 2)
      << "the right culprit was named in window 3 already, if in the wrong kind";
}

TEST(Verdict, TwoFaultsNeedTwoFindings) {
  Truth other;
  other.expected = {.kinds = {FindingKind::kCommunication}, .ranks = {9}};
  const std::vector<Truth> truths = {SlowRank5(), other};
  std::vector<SaidFinding> said = {
      SaidAt(2, Says(FindingKind::kSlowRank, {{.rank = 5}, {.rank = 9}}))};
  RunVerdict verdict = Judge(truths, said, 8);
  EXPECT_NE(verdict.truths[0].found(), verdict.truths[1].found())
      << "one finding stands for one fault";
  said = {SaidAt(2, Says(FindingKind::kCommunication, {{.rank = 9}})),
          SaidAt(2, Says(FindingKind::kSlowRank, {{.rank = 5}}))};
  verdict = Judge(truths, said, 8);
  EXPECT_TRUE(verdict.right());
  EXPECT_EQ(verdict.truths[0].said, 1);
  EXPECT_EQ(verdict.truths[1].said, 0);
}

TEST(Verdict, TwoFaultsOfOneRankAreToldApartByKind) {
  Truth other;
  other.expected = {.kinds = {FindingKind::kCommunication}, .ranks = {5}};
  const std::vector<Truth> truths = {SlowRank5(), other};
  const std::vector<SaidFinding> said = {
      SaidAt(2, Says(FindingKind::kCommunication, {{.rank = 5}})),
      SaidAt(2, Says(FindingKind::kSlowRank, {{.rank = 5}}))};
  EXPECT_TRUE(Judge(truths, said, 8).right());
}

TEST(Verdict, WhatWasOverBeforeTheFaultIsFalse) {
  const std::vector<Truth> truths = {SlowRank5()};
  std::vector<SaidFinding> said = {SaidAt(0, Says(FindingKind::kSlowRank, {{.rank = 5}}))};
  said[0].finding.last_window = 1;
  EXPECT_EQ(Judge(truths, said, 8).false_findings(), 1u);
  said[0].finding.last_window = 2;
  EXPECT_EQ(Judge(truths, said, 8).truths[0].windows, 1);
}

TEST(Verdict, WindowsCountFromTheOneInWhichTheFaultShows) {
  std::vector<Truth> truths = {SlowRank5()};
  std::vector<SaidFinding> said = {SaidAt(6, Says(FindingKind::kSlowRank, {{.rank = 5}}))};
  EXPECT_EQ(Judge(truths, said, 8).truths[0].windows, 5);
  truths[0].shown_window = 5;
  EXPECT_EQ(Judge(truths, said, 8).truths[0].windows, 2);
  said[0].opened_window = 3;
  EXPECT_EQ(Judge(truths, said, 8).truths[0].windows, 1) << "told before steps became longer";
  EXPECT_EQ(Judge(truths, said, 8).false_findings(), 0u);
}

TEST(Verdict, WithoutHostsALinkIsItsTwoRanks) {
  const std::vector<Truth> truths = {{.expected = kLink}};
  const std::vector<SaidFinding> said = {
      SaidAt(0, Says(FindingKind::kCommunication, {{.rank = 1, .peer = 16}}))};
  EXPECT_FALSE(Judge(truths, said, 0).truths[0].found());
  EXPECT_TRUE(Judge(truths, said, 8).truths[0].agreement.rank);
}

}  // namespace
}  // namespace eroica
