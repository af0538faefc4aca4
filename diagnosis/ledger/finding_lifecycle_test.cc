#include "diagnosis/ledger/finding_lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Finding FindingIn(int64_t window, std::string id = "a") {
  Finding finding;
  finding.id = std::move(id);
  finding.first_window = finding.last_window = window;
  std::tie(finding.first_step, finding.last_step) = std::pair(window * 10, window * 10 + 9);
  return finding;
}

TEST(FindingLifecycle, OpensUpdatesAndResolves) {
  FindingLifecycle lifecycle;
  std::vector<Finding> published = lifecycle.Observe(1, {FindingIn(1)});
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(published[0].state, FindingState::kOpened);

  published = lifecycle.Observe(2, {FindingIn(2)});
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(published[0].state, FindingState::kUpdated);
  EXPECT_EQ(published[0].first_window, 1);
  EXPECT_EQ(published[0].last_window, 2);
  EXPECT_EQ(published[0].first_step, 10);

  EXPECT_THAT(lifecycle.Observe(3, {}), IsEmpty());  // one window without it is no end
  published = lifecycle.Observe(4, {});
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(published[0].state, FindingState::kResolved);
  EXPECT_THAT(lifecycle.open(), IsEmpty());
}

Finding OfRanks(int64_t window, const std::vector<int32_t>& ranks) {
  Finding finding = FindingIn(window);
  for (const int32_t rank : ranks) finding.culprits.push_back({.rank = rank});
  finding.title = std::to_string(ranks.size()) + " ranks";
  return finding;
}

TEST(FindingLifecycle, ACulpritIsLeftOutWhenSeveralWindowsDoNotShowIt) {
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {OfRanks(1, {3, 7})});
  Finding published = lifecycle.Observe(2, {OfRanks(2, {3})})[0];
  EXPECT_THAT(published.culprits, SizeIs(2));
  EXPECT_EQ(published.title, "2 ranks");
  EXPECT_EQ(published.last_window, 2);
  published = lifecycle.Observe(3, {OfRanks(3, {3})})[0];
  EXPECT_THAT(published.culprits, SizeIs(1));
  EXPECT_EQ(published.title, "1 ranks");
}

TEST(FindingLifecycle, AnotherFunctionInFewerStepsMustComeTwice) {
  const auto of = [](int64_t window, std::string function, double slow_steps) {
    Finding finding = OfRanks(window, {3});
    finding.title = finding.function = std::move(function);
    finding.evidence = {{"slow_steps", "count", slow_steps, 0, 0, 32}};
    return finding;
  };
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {of(1, "a", 20)});
  EXPECT_EQ(lifecycle.Observe(2, {of(2, "b", 30)})[0].title, "b");  // rests on more
  EXPECT_EQ(lifecycle.Observe(3, {of(3, "a", 30)})[0].title, "a");
  EXPECT_EQ(lifecycle.Observe(4, {of(4, "b", 8)})[0].title, "a");
  EXPECT_EQ(lifecycle.Observe(5, {of(5, "a", 8)})[0].title, "a");
  EXPECT_EQ(lifecycle.Observe(6, {of(6, "b", 7)})[0].title, "a");
  EXPECT_EQ(lifecycle.Observe(7, {of(7, "b", 7)})[0].title, "b");
}

TEST(FindingLifecycle, WhatALateRankRanInAShortWindowIsNoBetterReason) {
  const auto of = [](int64_t window, std::string_view subkind, std::string function) {
    Finding finding = OfRanks(window, {3});
    finding.subkind = subkind;
    finding.function = std::move(function);
    return finding;
  };
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {of(1, "function", "cudaFree")});
  const Finding published = lifecycle.Observe(2, {of(2, kLateArrival, "gemm")})[0];
  EXPECT_EQ(published.function, "cudaFree");
  EXPECT_EQ(published.last_window, 2);
  EXPECT_EQ(lifecycle.Observe(3, {of(3, "function", "read")})[0].function, "read");
}

TEST(FindingLifecycle, AnotherCulpritIsTakenInAtOnce) {
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {OfRanks(1, {3, 7})});
  EXPECT_THAT(lifecycle.Observe(2, {OfRanks(2, {3, 7, 8})})[0].culprits, SizeIs(3));
  EXPECT_THAT(lifecycle.Observe(3, {OfRanks(3, {3, 9})})[0].culprits, SizeIs(2));
}

TEST(FindingLifecycle, OneMissedWindowDoesNotFlap) {
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {FindingIn(1)});
  lifecycle.Observe(2, {});
  const std::vector<Finding> published = lifecycle.Observe(3, {FindingIn(3)});
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(published[0].state, FindingState::kUpdated);
  EXPECT_EQ(published[0].first_window, 1);
}

TEST(FindingLifecycle, GoesOnAfterARestart) {
  FindingLifecycle before;
  const std::vector<Finding> published = before.Observe(1, {FindingIn(1), FindingIn(1, "b")});
  FindingLifecycle after;
  for (const Finding& finding : published) after.Restore(finding);
  const std::vector<Finding> next = {FindingIn(2), FindingIn(2, "b")};
  EXPECT_EQ(after.Observe(2, next), before.Observe(2, next));
}

TEST(FindingLifecycle, ResolvedFindingsAreNotRestoredAsOpen) {
  FindingLifecycle lifecycle;
  Finding finding = FindingIn(1);
  finding.state = FindingState::kResolved;
  lifecycle.Restore(finding);
  EXPECT_THAT(lifecycle.open(), IsEmpty());
}

Finding About(int64_t window, std::string id, std::string function, std::vector<int32_t> ranks) {
  Finding finding = FindingIn(window, std::move(id));
  finding.function = std::move(function);
  for (const int32_t rank : ranks) finding.culprits.push_back({.rank = rank});
  return finding;
}

// After a restart, too.
TEST(FindingLifecycle, WhatComesBackIsTheSameFindingOpenedAgain) {
  const auto id_of_return = [](int64_t window) {
    FindingLifecycle before;
    before.Observe(1, {About(1, "a", "gemm", {8})});
    before.Observe(2, {});
    const std::vector<Finding> resolved = before.Observe(3, {});
    FindingLifecycle after;
    for (const Finding& finding : resolved) after.Restore(finding);
    after.Observe(window - 1, {});
    const std::vector<Finding> back = after.Observe(window, {About(window, "b", "softmax", {8})});
    EXPECT_THAT(back, SizeIs(1));
    EXPECT_EQ(back[0].state, FindingState::kOpened);
    return back[0].id;
  };
  EXPECT_EQ(id_of_return(6), "a");
  EXPECT_EQ(id_of_return(40), "b");
}

Finding OfDevice(int64_t window, FindingKind kind) {
  Finding finding =
      About(window, kind == FindingKind::kContention ? "shared" : "slow", "every kernel", {8});
  finding.kind = kind;
  finding.function_class = FunctionClass::kGpuCompute;
  return finding;
}

// That it is shared one window tells and the next does not; two running are believed.
TEST(FindingLifecycle, ASlowDeviceThatIsSharedIsOneFinding) {
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {OfDevice(1, FindingKind::kSlowRank)});
  Finding published = lifecycle.Observe(2, {OfDevice(2, FindingKind::kContention)})[0];
  EXPECT_EQ(published.id, "slow");
  EXPECT_EQ(published.kind, FindingKind::kSlowRank);
  published = lifecycle.Observe(3, {OfDevice(3, FindingKind::kContention)})[0];
  EXPECT_EQ(published.id, "slow");
  EXPECT_EQ(published.kind, FindingKind::kContention);
  published = lifecycle.Observe(4, {OfDevice(4, FindingKind::kSlowRank)})[0];
  EXPECT_EQ(published.id, "slow");
  EXPECT_EQ(published.kind, FindingKind::kContention);
}

// The device of a rank, and what it runs in Python, are two faults.
TEST(FindingLifecycle, ASharedDeviceAndASlowFunctionAreTwo) {
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {OfDevice(1, FindingKind::kContention)});
  EXPECT_EQ(lifecycle.Observe(2, {About(2, "python", "read", {8})})[0].id, "python");
}

TEST(FindingLifecycle, AFaultThatIsToldDifferentlyStaysOneFinding) {
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {About(1, "a", "gemm", {8, 9})});
  std::vector<Finding> published = lifecycle.Observe(2, {About(2, "b", "gemm", {8, 9, 10})});
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(published[0].id, "a") << "one culprit more";
  EXPECT_EQ(published[0].first_window, 1);
  published = lifecycle.Observe(3, {About(3, "c", "attention", {8, 9, 10})});
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(published[0].id, "a") << "the same culprits, another function";
  EXPECT_THAT(lifecycle.open(), SizeIs(1));
}

TEST(FindingLifecycle, OtherFaultsAreOtherFindings) {
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {About(1, "a", "gemm", {8, 9})});
  EXPECT_EQ(
      lifecycle.Observe(2, {About(2, "b", "gemm", {3}), About(2, "a", "gemm", {8, 9})}).size(), 2u);
  EXPECT_THAT(lifecycle.open(), SizeIs(2)) << "found beside it";
  lifecycle.Observe(3, {About(3, "c", "read", {4})});
  EXPECT_THAT(lifecycle.open(), SizeIs(3));
}

TEST(FindingLifecycle, RanksOfOneHostThatReadFromItsStorageAreOneFaultInAllWindows) {
  const auto of = [](int64_t window, int32_t rank, const std::string& host,
                     FunctionClass function_class) {
    Finding finding = FindingIn(window);
    finding.culprits = {{.rank = rank, .host = host}};
    finding.function = window == 1 ? "recv_into" : "readinto";
    finding.stack = window == 1 ? "__getitem__ > readinto" : "__getitem__";
    finding.function_class = function_class;
    finding.id = FindingId(finding);
    return finding;
  };
  const auto findings_of = [&of](const std::string& other_host, FunctionClass function_class) {
    FindingLifecycle lifecycle;
    lifecycle.Observe(1, {of(1, 3, "host0", function_class)});
    lifecycle.Observe(2, {of(2, 5, other_host, function_class)});
    return lifecycle.open().size();
  };
  EXPECT_EQ(findings_of("host0", FunctionClass::kPython), 1u);
  EXPECT_EQ(findings_of("host1", FunctionClass::kPython), 2u);
  EXPECT_EQ(findings_of("host0", FunctionClass::kGpuCompute), 2u) << "two devices are two";
}

// Whichever comes first.
TEST(FindingLifecycle, AMomentOfWhatLastsIsPartOfIt) {
  const auto port = [](int64_t window) {
    Finding finding = About(window, "a", "", {6});
    finding.kind = FindingKind::kCommunication;
    finding.subkind = "pcie";
    finding.function_class = FunctionClass::kCollective;
    return finding;
  };
  const auto moment = [](int64_t window, std::string_view subkind, FunctionClass function_class,
                         int32_t rank = 6) {
    Finding finding = About(window, "b", "copy", {rank});
    finding.subkind = subkind;
    finding.function_class = function_class;
    return finding;
  };
  const auto findings_of = [](const Finding& first, const Finding& second) {
    FindingLifecycle lifecycle;
    lifecycle.Observe(1, {first});
    lifecycle.Observe(2, {second});
    return lifecycle.open().size();
  };
  EXPECT_EQ(findings_of(port(1), moment(2, kLateArrival, FunctionClass::kGpuCompute)), 1u);
  EXPECT_EQ(findings_of(port(1), moment(2, kTransient, FunctionClass::kMemoryOp)), 1u);
  EXPECT_EQ(findings_of(moment(1, kTransient, FunctionClass::kMemoryOp), port(2)), 1u);
  EXPECT_EQ(findings_of(port(1), moment(2, kTransient, FunctionClass::kMemoryOp, 7)), 2u)
      << "another rank";
  EXPECT_EQ(findings_of(port(1), moment(2, kTransient, FunctionClass::kPython)), 2u)
      << "a collection is a fault of its own";
  EXPECT_EQ(findings_of(port(1), moment(2, "function", FunctionClass::kGpuCompute)), 2u)
      << "and so is what lasts";
  const auto findings_at_once = [&](const Finding& beside) {
    FindingLifecycle lifecycle;
    lifecycle.Observe(1, {port(1), beside});
    return lifecycle.open().size();
  };
  EXPECT_EQ(findings_at_once(moment(1, kTransient, FunctionClass::kMemoryOp)), 1u);
  EXPECT_EQ(findings_at_once(moment(1, kTransient, FunctionClass::kMemoryOp, 7)), 2u);
}

TEST(FindingLifecycle, RanksThatAreSlowInWhatAllTakeTurnsInArePartOfIt) {
  FindingLifecycle lifecycle;
  Finding roaming = About(1, "a", "collect", {});
  roaming.kind = FindingKind::kStepTime;
  lifecycle.Observe(1, {roaming});
  EXPECT_THAT(lifecycle.Observe(2, {About(2, "b", "collect", {4})}), IsEmpty());
  EXPECT_THAT(lifecycle.Observe(3, {About(3, "c", "collect", {7, 9})}), IsEmpty())
      << "and so it lasts";
  EXPECT_THAT(lifecycle.Observe(4, {About(4, "d", "gemm", {4})}), SizeIs(1)) << "another fault";
}

// Of a host that throttles some windows show one rank alone.
TEST(FindingLifecycle, RanksOfASlowHostArePartOfItInAllWindows) {
  const auto of = [](int64_t window, std::string id, const std::vector<int32_t>& ranks,
                     std::string_view subkind) {
    Finding finding = About(window, std::move(id), "every gpu_compute function", ranks);
    finding.function_class = FunctionClass::kGpuCompute;
    finding.subkind = subkind;
    for (Culprit& culprit : finding.culprits) culprit.host = "node1";
    return finding;
  };
  FindingLifecycle host_first;
  host_first.Observe(1, {of(1, "a", {8, 9, 10}, kWholeHost)});
  EXPECT_THAT(host_first.Observe(2, {of(2, "b", {9}, "whole_rank")}), IsEmpty());
  EXPECT_THAT(host_first.Observe(3, {}), IsEmpty()) << "and so it lasts";
  FindingLifecycle rank_first;
  rank_first.Observe(1, {of(1, "b", {9}, "whole_rank")});
  const std::vector<Finding> published =
      rank_first.Observe(2, {of(2, "a", {8, 9, 10}, kWholeHost)});
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(published[0].id, "b") << "one fault, told better";
  EXPECT_EQ(published[0].culprits.size(), 3u);
  EXPECT_EQ(published[0].state, FindingState::kUpdated);
}

// Power and heat are a host's: its devices throttle in rotation.
TEST(FindingLifecycle, DevicesOfOneHostThatAreSlowInTheSameWayAreOneFault) {
  const auto findings_of = [](const std::string& other_host, const std::string& function,
                              std::string_view subkind = "function") {
    FindingLifecycle lifecycle;
    for (const int64_t window : {1, 2}) {
      Finding finding =
          About(window, window == 1 ? "a" : "b",
                window == 1 ? "every gpu_compute function" : function, {window == 1 ? 3 : 5});
      finding.subkind = window == 1 ? subkind : "function";
      finding.function_class = FunctionClass::kGpuCompute;
      finding.culprits[0].host = window == 1 ? "host0" : other_host;
      lifecycle.Observe(window, {finding});
    }
    return lifecycle.open().size();
  };
  EXPECT_EQ(findings_of("host0", "every gpu_compute function"), 1u);
  EXPECT_EQ(findings_of("host1", "every gpu_compute function"), 2u);
  EXPECT_EQ(findings_of("host0", "gemm"), 2u);
  EXPECT_EQ(findings_of("host0", "gemm", kWholeRank), 1u) << "one of all that a device runs";
}

// Where several devices of a host throttle, single steps of another one are part of it.
TEST(FindingLifecycle, AMomentOfAnotherDeviceIsPartOfAHostWhoseDevicesAreSlow) {
  const auto findings_of = [](const std::vector<int32_t>& slow, const std::string& host,
                              FunctionClass function_class) {
    FindingLifecycle lifecycle;
    for (const int64_t window : {1, 2}) {
      Finding finding = About(window, window == 1 ? "a" : "b", "every gpu_compute function",
                              window == 1 ? slow : std::vector<int32_t>{6});
      finding.subkind = window == 1 ? kWholeRank : kTransient;
      finding.function_class = window == 1 ? FunctionClass::kGpuCompute : function_class;
      for (Culprit& culprit : finding.culprits) culprit.host = window == 1 ? "host0" : host;
      lifecycle.Observe(window, {finding});
    }
    return lifecycle.open().size();
  };
  EXPECT_EQ(findings_of({3, 5}, "host0", FunctionClass::kGpuCompute), 1u);
  EXPECT_EQ(findings_of({3, 5}, "host1", FunctionClass::kGpuCompute), 2u);
  EXPECT_EQ(findings_of({3}, "host0", FunctionClass::kGpuCompute), 2u) << "one device is no host";
  EXPECT_EQ(findings_of({3, 5}, "host0", FunctionClass::kPython), 2u);
}

TEST(FindingLifecycle, APathIsPartOfTheSlowPortAtOneOfItsEnds) {
  const auto link = [](int64_t window, std::string id, int32_t rank, int32_t peer) {
    Finding finding = About(window, std::move(id), "", {rank});
    finding.kind = FindingKind::kCommunication;
    finding.culprits[0].peer = peer;
    return finding;
  };
  const auto findings_of = [](const Finding& first, const Finding& second) {
    FindingLifecycle lifecycle;
    lifecycle.Observe(1, {first});
    lifecycle.Observe(2, {second});
    return lifecycle.open();
  };
  const auto told = findings_of(link(1, "a", 3, 15), link(2, "b", 15, -1));
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told.begin()->second.culprits[0].rank, 15);
  EXPECT_THAT(findings_of(link(1, "a", 3, -1), link(2, "b", 3, 15)), SizeIs(1))
      << "whichever comes first";
  EXPECT_THAT(findings_of(link(1, "a", 3, 15), link(2, "b", 7, -1)), SizeIs(2)) << "another port";
  EXPECT_THAT(findings_of(link(1, "a", 3, 15), link(2, "b", 5, 14)), SizeIs(2)) << "two paths";
}

TEST(FindingLifecycle, APathBetweenTwoHostsIsOneFaultWhicheverPairIsTheWorst) {
  const auto findings_of = [](const std::string& host, bool several) {
    FindingLifecycle lifecycle;
    for (const int64_t window : {1, 2}) {
      Finding finding = About(window, window == 1 ? "a" : "b", "", {window == 1 ? 3 : 5});
      finding.kind = FindingKind::kCommunication;
      finding.culprits[0].peer = window == 1 ? 11 : 13;
      finding.culprits[0].host = window == 1 ? "host0" : host;
      if (several)
        finding.evidence.push_back(
            {.name = std::string(kSlowPairs), .unit = "count", .culprit = 4});
      lifecycle.Observe(window, {finding});
    }
    return lifecycle.open().size();
  };
  EXPECT_EQ(findings_of("host0", true), 1u);
  EXPECT_EQ(findings_of("host1", true), 2u);
  EXPECT_EQ(findings_of("host0", false), 2u) << "two links";
}

TEST(FindingLifecycle, TurnsOfWhoCallsArePartOfThem) {
  const auto turns = [](int64_t window, std::string function, std::string stack) {
    Finding finding = About(window, "", std::move(function), {});
    finding.kind = FindingKind::kStepTime;
    finding.subkind = kRoaming;
    finding.stack = std::move(stack);
    finding.world_size = 8;
    finding.lost_gpu_seconds_per_hour = 0.1 * 3600 * 8;
    finding.id = FindingId(finding);
    return finding;
  };
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {turns(1, "__getitem__", "main")});
  const std::vector<Finding> published =
      lifecycle.Observe(2, {turns(2, "collect", "main > __getitem__")});
  ASSERT_THAT(published, SizeIs(1));
  EXPECT_EQ(published[0].function, "collect");
  EXPECT_THAT(lifecycle.Observe(3, {turns(3, "__getitem__", "main")}), IsEmpty());
  EXPECT_THAT(lifecycle.open(), SizeIs(1));
  lifecycle.Observe(4, {turns(4, "save", "main")});
  EXPECT_THAT(lifecycle.open(), SizeIs(2));
}

TEST(FindingLifecycle, TurnsInWhatHasBecomeLongerOnAllArePartOfIt) {
  const auto on_nobody = [](int64_t window, std::string function, FindingKind kind) {
    Finding finding = About(window, "", std::move(function), {});
    finding.kind = kind;
    if (kind == FindingKind::kStepTime) finding.subkind = kRoaming;
    finding.world_size = 8;
    finding.lost_gpu_seconds_per_hour = 0.1 * 3600 * 8;
    finding.id = FindingId(finding);
    return finding;
  };
  FindingLifecycle lifecycle;
  lifecycle.Observe(1, {on_nobody(1, "recv_into", FindingKind::kRegression)});
  EXPECT_THAT(lifecycle.Observe(2, {on_nobody(2, "recv_into", FindingKind::kStepTime)}), IsEmpty());
  EXPECT_THAT(lifecycle.Observe(3, {on_nobody(3, "collect", FindingKind::kStepTime)}), SizeIs(1));
}

// What a claim was remembered for does not count twice.
TEST(FindingLifecycle, WhatGoesOnHasLastedForTheWindowsInWhichItWasSeen) {
  const auto of = [](int64_t window, std::string id, std::string_view subkind) {
    Finding finding = About(window, std::move(id), "every gpu_compute function", {9});
    finding.function_class = FunctionClass::kGpuCompute;
    finding.subkind = subkind;
    finding.culprits[0].host = "node1";
    if (subkind == kWholeHost) finding.culprits.push_back({.rank = 8, .host = "node1"});
    finding.evidence = {{"slow_steps", "count", 3, 0, 0, 4}, {"lasted", "ns", 100, 0, 0, 1}};
    return finding;
  };
  FindingLifecycle lifecycle;
  for (const int64_t window : {1, 2}) lifecycle.Observe(window, {of(window, "a", "whole_rank")});
  lifecycle.Observe(3, {of(3, "b", kWholeHost)});
  ASSERT_THAT(lifecycle.open(), SizeIs(1));
  const Measure* lasted = FindLasted(lifecycle.open().begin()->second);
  EXPECT_EQ(lasted->samples, 3u);
  EXPECT_EQ(lasted->culprit, 300);
}

TEST(FindingLifecycle, TheSameRanksInMostStepsOfTwoWindowsTakeNoTurns) {
  const auto slow = [](int64_t window, double steps) {
    Finding finding = About(window, "b", "collect", {4, 7});
    finding.evidence = {{"slow_steps", "count", steps, 0, 0, 8}};
    return finding;
  };
  for (const bool takes_turns : {true, false}) {
    FindingLifecycle lifecycle;
    Finding on_all = About(1, "a", "collect", {});
    on_all.kind = FindingKind::kStepTime;
    if (takes_turns) on_all.subkind = kRoaming;
    on_all.world_size = 8;
    on_all.lost_gpu_seconds_per_hour = 0.1 * 3600 * 8;
    lifecycle.Observe(1, {on_all});
    EXPECT_THAT(lifecycle.Observe(2, {slow(2, 8)}), IsEmpty());
    EXPECT_THAT(lifecycle.Observe(3, {slow(3, 4)}), IsEmpty()) << "in rotation";
    EXPECT_THAT(lifecycle.Observe(4, {slow(4, 8)}), IsEmpty());
    EXPECT_THAT(lifecycle.Observe(5, {slow(5, 8)}), SizeIs(takes_turns ? 1 : 0))
        << "what slows all may slow some more";
  }
}

TEST(FindingLifecycle, TheOnlyWindowOfAJobThatHangsIsNotTakenAtItsWord) {
  Finding uneven = FindingIn(0, "stage");
  uneven.kind = FindingKind::kImbalance;
  uneven.evidence = {{.name = std::string(kSeenInWindows),
                      .unit = "count",
                      .culprit = 1,
                      .threshold = 2,
                      .samples = 1}};
  EXPECT_THAT(FindingLifecycle().Observe(0, {uneven}, true), SizeIs(1));
  FindingLifecycle hangs;
  Finding hang = OfRanks(0, {0});
  std::tie(hang.id, hang.kind) = std::pair("hang", FindingKind::kHang);
  hangs.Report(hang);
  EXPECT_THAT(hangs.Observe(0, {uneven}, true), IsEmpty()) << "its last step is cut short";
}

TEST(FindingLifecycle, WhereNobodyIsBlamedTheFunctionIsTheSame) {
  FindingLifecycle lifecycle;
  Finding roaming = About(1, "a", "collect", {});
  roaming.kind = FindingKind::kStepTime;
  lifecycle.Observe(1, {roaming});
  std::tie(roaming.id, roaming.last_window) = std::pair("b", 2);  // another caller
  EXPECT_EQ(lifecycle.Observe(2, {roaming})[0].id, "a");
  std::tie(roaming.id, roaming.function) = std::pair("c", "gemm");
  EXPECT_EQ(lifecycle.Observe(2, {roaming})[0].id, "c");
}

}  // namespace
}  // namespace eroica
