#include "diagnosis/explanation/shared_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/explanation/rotating_straggler.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Finding Slow(int32_t rank, std::string function, double lost_ns, std::string host = "node1") {
  Finding finding;
  finding.kind = FindingKind::kSlowRank;
  finding.subkind = "function";
  finding.culprits = {{.rank = rank, .host = std::move(host)}};
  finding.function = std::move(function);
  finding.lost_ns_per_step = lost_ns;
  finding.title = "Rank " + std::to_string(rank) + " is slow.";
  for (uint32_t victim = 0; victim < 4; ++victim) {
    if (static_cast<int32_t>(victim) != rank) finding.victims.push_back({.rank = RankId{victim}});
  }
  return finding;
}

TEST(MergeBySharedCause, RanksThatRunTheSameAreOneFinding) {
  const std::vector<Finding> merged =
      MergeBySharedCause({Slow(2, "read", 10), Slow(1, "read", 30), Slow(3, "read", 20)});
  ASSERT_THAT(merged, SizeIs(1));
  ASSERT_THAT(merged[0].culprits, SizeIs(3));
  EXPECT_EQ(merged[0].culprits[0].rank, 1);
  EXPECT_EQ(merged[0].lost_ns_per_step, 60);
  EXPECT_THAT(merged[0].victims, ElementsAre(Victim{.rank = RankId{0}}));
  EXPECT_EQ(merged[0].title, "Rank 1 is slow. So it is on 3 ranks: 1, 2, 3, on host node1.");
}

TEST(MergeBySharedCause, WhatCodeInCDoesIsItsCallers) {
  const auto merged = [](const std::string& function, const std::string& caller) {
    Finding python = Slow(1, "pin_memory.py: pin_memory", 30);
    Finding called = Slow(2, function, 20, "node2");
    python.stack = "main > __next__";
    called.stack = "main > __next__ > " + caller;
    return MergeBySharedCause({python, called}).size();
  };
  EXPECT_EQ(merged("<built-in method pin_memory of Tensor>", "pin_memory.py: pin_memory"), 1u);
  EXPECT_EQ(merged("<built-in method pin_memory of Tensor>", "collate.py: collate"), 2u);
  EXPECT_EQ(merged("copy.py: copy", "pin_memory.py: pin_memory"), 2u)
      << "a function with a line of its own";
}

TEST(MergeBySharedCause, OtherFunctionsAndKindsStayApart) {
  Finding communication = Slow(2, "read", 5);
  communication.kind = FindingKind::kCommunication;
  EXPECT_THAT(MergeBySharedCause({Slow(1, "read", 30), Slow(2, "gemm", 20), communication}),
              SizeIs(3));
}

TEST(MergeBySharedCause, RanksOfOneHostThatAreSlowInOneCallAreOneFinding) {
  const auto merged = [](FunctionClass function_class, const std::string& stack,
                         const std::string& host) {
    Finding calls = Slow(1, "readinto", 30);
    Finding called = Slow(2, "recv_into", 20, host);
    calls.stack = stack;
    called.stack = stack + " > readinto";
    calls.function_class = called.function_class = function_class;
    return MergeBySharedCause({calls, called});
  };
  const std::vector<Finding> one = merged(FunctionClass::kPython, "main", "node1");
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_THAT(one[0].culprits, SizeIs(2));
  EXPECT_EQ(one[0].function, "readinto");
  EXPECT_THAT(merged(FunctionClass::kPython, "main", "node2"), SizeIs(2)) << "two hosts";
  EXPECT_THAT(merged(FunctionClass::kGpuCompute, "main", "node1"), SizeIs(2)) << "two devices";
  EXPECT_THAT(merged(FunctionClass::kPython, "", "node1"), SizeIs(2))
      << "all that runs is called by the outermost function";
}

// Ranks whose device was late for a step need not have been so for one reason.
TEST(MergeBySharedCause, MomentsOfDevicesShareTheirHostAlone) {
  const auto merged = [](std::string_view subkind, FunctionClass function_class,
                         const std::string& host) {
    std::vector<Finding> claims = {Slow(1, "every gpu_compute function", 30),
                                   Slow(2, "every gpu_compute function", 20, host)};
    for (Finding& claim : claims) {
      claim.subkind = subkind;
      claim.function_class = function_class;
    }
    return MergeBySharedCause(claims).size();
  };
  EXPECT_EQ(merged(kTransient, FunctionClass::kGpuCompute, "node1"), 1u);
  EXPECT_EQ(merged(kTransient, FunctionClass::kGpuCompute, "node2"), 2u);
  EXPECT_EQ(merged(kTransient, FunctionClass::kPython, "node2"), 1u)
      << "a function of the thread says what it is";
  EXPECT_EQ(merged(kWholeRank, FunctionClass::kGpuCompute, "node2"), 1u);
}

TEST(MergeBySharedCause, LongListsAreCut) {
  std::vector<Finding> claims;
  for (int32_t rank = 0; rank < 20; ++rank)
    claims.push_back(Slow(rank, "read", 100 - rank, "node" + std::to_string(rank / 8)));
  EXPECT_THAT(MergeBySharedCause(std::move(claims))[0].title,
              HasSubstr("and 12 more, on hosts node0, node1, node2."));
}

Finding Occasional(int32_t rank, std::string function, double slow_steps) {
  Finding finding = Slow(rank, std::move(function), 10);
  finding.evidence = {{.name = "slow_steps", .unit = "count", .culprit = slow_steps, .samples = 8}};
  return finding;
}

TEST(MergeRoaming, RanksThatAreLateByTurnsInNothingShareNothing) {
  EXPECT_THAT(MergeRoaming({Occasional(1, "", 1), Occasional(4, "", 1), Occasional(6, "", 1)}),
              SizeIs(3));
}

TEST(MergeRoaming, RanksThatNameNothingNameNoFunction) {
  const std::vector<Finding> merged =
      MergeRoaming({Occasional(1, "read", 1), Occasional(4, "", 1), Occasional(6, "", 1)});
  ASSERT_THAT(merged, SizeIs(1));
  EXPECT_EQ(merged[0].function, "read");
}

// The spike operator says it of ranks whose steps do not show it one by one.
TEST(MergeRoaming, WhatWasToldOfTheSameTurnsIsPartOfIt) {
  Finding turns = Slow(1, "collect", 40);
  turns.kind = FindingKind::kStepTime;
  turns.subkind = kRoaming;
  turns.culprits.clear();
  Finding others = turns;
  others.function = "save";
  const std::vector<Finding> merged =
      MergeRoaming({Occasional(1, "collect", 1), Occasional(4, "collect", 1),
                    Occasional(6, "collect", 1), turns, others});
  ASSERT_THAT(merged, SizeIs(2));
  EXPECT_EQ(merged[0].function, "save");
  EXPECT_EQ(merged[1].function, "collect");
  EXPECT_EQ(merged[1].lost_ns_per_step, 30);
}

// Single steps are told by few samples.
TEST(MergeRoaming, WhatIsMeasuredOverAllRanksNamesTheFunction) {
  const auto function_of = [](double lost_ns) {
    Finding turns = Slow(1, "collect", lost_ns);
    turns.kind = FindingKind::kStepTime;
    turns.subkind = kRoaming;
    turns.culprits.clear();
    turns.evidence.push_back({std::string(kSeenInWindows), "count", 1, 0, 2, 1});
    std::vector<Finding> merged =
        MergeRoaming({Occasional(1, "__getitem__", 1), Occasional(4, "__getitem__", 1),
                      Occasional(6, "__getitem__", 1), turns});
    EXPECT_EQ(FindMeasure(merged[0], kSeenInWindows) == nullptr, merged.size() == 1)
        << "two ways of measuring need no second window";
    return merged.size() == 1 ? merged[0].function : "both";
  };
  EXPECT_EQ(function_of(16), "collect");
  EXPECT_EQ(function_of(14), "both") << "costs less than half as much";
}

TEST(MergeRoaming, WhereProcessorsAreShortTurnsNeedFourWindows) {
  for (const bool are_short : {false, true}) {
    std::vector<Finding> claims;
    for (const int32_t rank : {1, 4, 6}) {
      claims.push_back(Occasional(rank, "input", 1));
      if (are_short) claims.back().evidence.push_back({std::string(kSharedProcessors), "ns"});
    }
    const std::vector<Finding> merged = MergeRoaming(std::move(claims));
    ASSERT_THAT(merged, SizeIs(1));
    const Measure* seen = FindMeasure(merged[0], kSeenInWindows);
    ASSERT_EQ(seen != nullptr, are_short);
    if (are_short) {
      EXPECT_EQ(seen->threshold, kWindowsOfSharedWaits);
    }
  }
}

TEST(MergeRoaming, WhatTheStepsNameOtherwiseIsAskedForAgain) {
  const auto windows_for = [](const std::vector<int32_t>& late) {
    Finding turns = Slow(1, "collect", 14);
    turns.kind = FindingKind::kStepTime;
    turns.subkind = kRoaming;
    turns.culprits.clear();
    turns.evidence.push_back({std::string(kSeenInWindows), "count", 1, 0, 1, 1});
    std::vector<Finding> claims = {turns};
    for (const int32_t rank : late) claims.push_back(Occasional(rank, "__getitem__", 1));
    return FindMeasure(MergeRoaming(claims)[0], kSeenInWindows)->threshold;
  };
  EXPECT_EQ(windows_for({1, 4, 6}), 2);
  EXPECT_EQ(windows_for({}), 1);
}

TEST(MergeRoaming, DevicesThatAreLateByTurnsShareNothing) {
  std::vector<Finding> claims = {Occasional(1, "every gpu_compute function", 1),
                                 Occasional(4, "every gpu_compute function", 1),
                                 Occasional(6, "every gpu_compute function", 1)};
  for (Finding& claim : claims) claim.function_class = FunctionClass::kGpuCompute;
  EXPECT_THAT(MergeRoaming(std::move(claims)), SizeIs(3));
}

TEST(MergeRoaming, FourRanksOfOneHostAmongSeveralShareTheHost) {
  const auto turns = [] {
    return std::vector<Finding>{Occasional(1, "read", 1), Occasional(4, "read", 1),
                                Occasional(6, "read", 1), Occasional(7, "read", 1)};
  };
  EXPECT_THAT(MergeRoaming(turns(), 1), SizeIs(1));
  EXPECT_THAT(MergeRoaming(turns(), 2), SizeIs(4));
  std::vector<Finding> on_two = turns();
  on_two[3].culprits[0].host = "node2";
  EXPECT_THAT(MergeRoaming(on_two, 2), SizeIs(1));
}

Finding SlowHost(std::string function, FunctionClass function_class) {
  Finding finding = Slow(1, std::move(function), 20);
  finding.subkind = kWholeHost;
  finding.culprits.push_back({.rank = 2, .host = "node1"});
  finding.function_class = function_class;
  return finding;
}

TEST(DropRanksOfSlowHosts, OfTheSameHostAndPartOfIt) {
  Finding elsewhere = Slow(9, "every gpu_compute function", 10, "node2");
  elsewhere.function_class = FunctionClass::kGpuCompute;
  Finding here = elsewhere;
  here.culprits = {{.rank = 2, .host = "node1"}};
  std::vector<Finding> claims = {SlowHost("every gpu_compute function", FunctionClass::kGpuCompute),
                                 here, elsewhere, Slow(2, "read", 10)};
  DropRanksOfSlowHosts(claims);
  ASSERT_THAT(claims, SizeIs(3));
  EXPECT_EQ(claims[1].culprits[0].rank, 9);
  EXPECT_EQ(claims[2].function, "read");
}

TEST(DropHostsOfOneSlowRank, ThatMakesUpHalfOfWhatItsDevicesLose) {
  const auto left = [](int32_t slow, double lost_ns) {
    Finding rank = Slow(slow, "every gpu_compute function", lost_ns);
    rank.function_class = FunctionClass::kGpuCompute;
    std::vector<Finding> claims = {
        SlowHost("every gpu_compute function", FunctionClass::kGpuCompute), rank};
    DropHostsOfOneSlowRank(claims);
    return claims.size();
  };
  EXPECT_EQ(left(1, 20), 1u);
  EXPECT_EQ(left(1, 19), 2u);
  EXPECT_EQ(left(7, 20), 2u);
}

TEST(DropRanksOfSlowHosts, AndUnevenWorkThatIsTheHosts) {
  Finding uneven = Slow(1, "read", 30);
  uneven.kind = FindingKind::kImbalance;
  uneven.culprits.clear();
  std::vector<Finding> claims = {SlowHost("read", FunctionClass::kPython), uneven};
  DropRanksOfSlowHosts(claims);
  EXPECT_THAT(claims, SizeIs(1));
  uneven.lost_ns_per_step = 100;
  claims.push_back(uneven);
  DropRanksOfSlowHosts(claims);
  EXPECT_THAT(claims, SizeIs(2));
}

TEST(DropStagesOfSlowRanks, OfThatRankAloneAndNoLargerOne) {
  Finding stage = Slow(4, "gemm", 30);
  stage.kind = FindingKind::kImbalance;
  stage.subkind = "stage";
  stage.culprits.clear();
  const auto left = [&stage](int32_t slow, size_t ranks, double lost_ns = 20) {
    std::vector<Finding> claims = {Slow(slow, "read", lost_ns), stage};
    DropStagesOfSlowRanks(claims, ranks);
    return claims.size();
  };
  EXPECT_EQ(left(4, 5), 1u);
  EXPECT_EQ(left(3, 5), 2u);
  EXPECT_EQ(left(4, 8), 2u);
  EXPECT_EQ(left(4, 5, 10), 2u);
  stage.evidence = {{"work_per_step", "ns", 160, 100, 155, 8}};
  EXPECT_EQ(left(4, 5, 10), 1u);
  EXPECT_EQ(left(4, 5, 5), 2u);
}

TEST(DropExplainedByAll, LeavesAWholeHost) {
  Finding all = Slow(1, "read", 30);
  all.kind = FindingKind::kRegression;
  all.culprits.clear();
  std::vector<Finding> findings = {all, SlowHost("read", FunctionClass::kPython),
                                   Slow(5, "read", 10)};
  DropExplainedByAll(findings);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[1].subkind, kWholeHost);
}

TEST(MergeRoaming, RanksThatTakeTurnsAreNobodysFault) {
  const std::vector<Finding> merged =
      MergeRoaming({Occasional(1, "collect", 2), Occasional(9, "gemm", 8),
                    Occasional(4, "collect", 1), Occasional(6, "main", 3)});
  ASSERT_THAT(merged, SizeIs(2));
  EXPECT_EQ(merged[0].culprits[0].rank, 9);
  EXPECT_EQ(merged[1].kind, FindingKind::kStepTime);
  EXPECT_EQ(merged[1].function, "collect");
  EXPECT_THAT(merged[1].culprits, SizeIs(0));
}

TEST(MergeRoaming, RanksThatAreLateInTheSameHalfOfTheStepsTakeNoTurns) {
  std::vector<Finding> claims;
  for (int32_t rank = 0; rank < 64; ++rank) {
    claims.push_back(Occasional(rank, "pin_memory", 2));
    for (Measure& measure : claims.back().evidence)
      measure.culprit = static_cast<double>(measure.samples) / 2;
  }
  EXPECT_THAT(MergeRoaming(claims), SizeIs(64));
}

TEST(MergeRoaming, TwoRanksOrRanksThatAreLateInMostStepsAreBlamed) {
  EXPECT_THAT(MergeRoaming({Occasional(1, "collect", 2), Occasional(4, "collect", 1)}), SizeIs(2));
  EXPECT_THAT(
      MergeRoaming({Occasional(1, "read", 5), Occasional(4, "read", 6), Occasional(5, "read", 8)}),
      SizeIs(3));
}

TEST(MergeRoaming, AFewThatAreLateInMostStepsOfAShortWindowArePartOfIt) {
  const std::vector<Finding> merged =
      MergeRoaming({Occasional(1, "collect", 2), Slow(4, "collect", 5), Occasional(5, "collect", 7),
                    Slow(8, "collect", 5), Occasional(9, "gemm", 8)});
  ASSERT_THAT(merged, SizeIs(2));
  EXPECT_EQ(merged[0].function, "gemm");
  EXPECT_EQ(merged[1].kind, FindingKind::kStepTime);
}

Finding OnAll(std::string function, double lost_ns, std::string stack = "") {
  Finding finding = Slow(0, std::move(function), lost_ns);
  finding.kind = FindingKind::kRegression;
  finding.culprits.clear();
  finding.stack = std::move(stack);
  return finding;
}

TEST(DropExplainedByAll, TheSlowestOfAllIsNoSecondFault) {
  std::vector<Finding> findings = {OnAll("mask", 30), Slow(1, "mask", 5)};
  DropExplainedByAll(findings);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kRegression);
}

Finding SlowPort(int32_t rank, double lost_ns = 10) {
  Finding port = Slow(rank, "", lost_ns);
  port.kind = FindingKind::kCommunication;
  return port;
}

TEST(DropParts, OfASharedDeviceItsOwnPorts) {
  Finding shared = Slow(6, "", 20);
  shared.kind = FindingKind::kContention;
  const Finding port = SlowPort(6);
  const Finding other = SlowPort(7);
  Finding link = port;
  link.culprits[0].peer = 3;
  std::vector<Finding> findings = {shared, port, other, link};
  DropParts(findings);
  EXPECT_EQ(findings, (std::vector<Finding>{shared, other, link}));
}

TEST(DropParts, OfASlowDeviceThePortThatIsSlowerByAsMuch) {
  const auto left = [](double gb_per_s, double longer) {
    Finding device = Slow(6, "every gpu_compute function", 20);
    device.function_class = FunctionClass::kGpuCompute;
    device.evidence.push_back({.name = "kernels_longer", .unit = "ratio", .culprit = longer});
    Finding port = SlowPort(6);
    port.evidence = {{.name = "speed", .unit = "GB/s", .culprit = gb_per_s, .peers = 50}};
    std::vector<Finding> findings = {device, port};
    DropParts(findings);
    return findings.size();
  };
  EXPECT_EQ(left(46, 0.09), 1u);
  EXPECT_EQ(left(25, 0.09), 2u) << "the kernels explain a tenth of it";
}

TEST(DropParts, OfASlowSlotItsCopies) {
  const Finding port = SlowPort(6, 40);
  Finding copies = Slow(6, "Memcpy HtoD", 10);
  copies.function_class = FunctionClass::kMemoryOp;
  Finding elsewhere = copies;
  elsewhere.culprits[0].rank = 7;
  std::vector<Finding> findings = {copies, port, elsewhere, Slow(6, "read", 10)};
  DropParts(findings);
  ASSERT_THAT(findings, SizeIs(3));
  EXPECT_EQ(findings[0], port);
}

TEST(DropExplainedByAll, NorIsWhoCallsOrIsCalled) {
  std::vector<Finding> findings = {OnAll("recv_into", 30, "main > readinto"),
                                   Slow(1, "readinto", 5)};
  DropExplainedByAll(findings);
  EXPECT_THAT(findings, SizeIs(1));
}

TEST(DropExplainedByAll, AnotherFunctionOrALargerLossIsOne) {
  std::vector<Finding> findings = {OnAll("mask", 30), Slow(1, "mask", 50), Slow(2, "gemm", 5)};
  DropExplainedByAll(findings);
  EXPECT_THAT(findings, SizeIs(3));
}

// Rank 2 sends to rank 3.
Finding SlowPath(double lost_ns) {
  Finding path;
  path.kind = FindingKind::kCommunication;
  path.culprits = {{.rank = 2, .host = "a", .peer = 3}};
  path.lost_ns_per_step = lost_ns;
  return path;
}

TEST(DropParts, AStarvedRankSendsAndReadsLateWhateverItsConnectionsCarry) {
  for (const char* waits :
       {"(runnable, waiting for a processor used by other)", "(waiting for the GIL)"}) {
    for (const int rank : {2, 3}) {
      std::vector<Finding> findings = {SlowPath(140), Slow(rank, waits, 100)};
      findings[1].function_class = FunctionClass::kPython;
      DropParts(findings);
      ASSERT_THAT(findings, SizeIs(1)) << waits << rank;
      EXPECT_EQ(findings[0].kind, FindingKind::kSlowRank);
    }
  }
}

TEST(DropParts, ASlowPathOfOtherRanksOrBesideOtherWorkStays) {
  std::vector<Finding> elsewhere = {SlowPath(40), Slow(5, "(waiting for the GIL)", 100)};
  elsewhere[1].function_class = FunctionClass::kPython;
  DropParts(elsewhere);
  EXPECT_THAT(elsewhere, SizeIs(2));
  std::vector<Finding> faster = {SlowPath(140), Slow(2, "model.py(7): forward", 100)};
  faster[1].function_class = FunctionClass::kPython;
  DropParts(faster);
  EXPECT_THAT(faster, SizeIs(2)) << "the thread is late by less than the path costs";
  std::vector<Finding> of_device = {SlowPath(40), Slow(2, "gemm", 100)};
  of_device[1].function_class = FunctionClass::kGpuCompute;
  DropParts(of_device);
  EXPECT_THAT(of_device, SizeIs(2));
}

}  // namespace
}  // namespace eroica
