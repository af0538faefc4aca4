#include "diagnosis/ledger/claim_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/ledger/claim_memory_test_claims.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ClaimMemory, WhatLastsIsOpenedInTheSecondWindow) {
  ClaimMemory memory;
  EXPECT_THAT(Ripen(memory, 1, {Claim(1, 5, 4)}), IsEmpty());
  const std::vector<Finding> ripe = Ripen(memory, 2, {Claim(2, 5, 4)});
  ASSERT_THAT(ripe, SizeIs(1));
  EXPECT_EQ(ripe[0].first_window, 1);
  EXPECT_EQ(ripe[0].first_step, 4);
  EXPECT_EQ(ripe[0].first_seen_ns, kWindowNs + 7);
  EXPECT_EQ(ripe[0].last_seen_ns, 3 * kWindowNs);
  EXPECT_EQ(FindLasted(ripe[0])->culprit, 8e8);
  EXPECT_EQ(FindLasted(ripe[0])->samples, 2u);
}

TEST(ClaimMemory, AWindowOfEnoughStepsIsEnough) {
  ClaimMemory memory;
  Finding claim = Claim(1, 5, 8);
  claim.evidence[0].samples = 8;
  EXPECT_THAT(Ripen(memory, 1, {claim}), SizeIs(1));
}

TEST(ClaimMemory, TheLargestOfManyIsAskedForTwice) {
  const auto claim = [](int64_t window, double deviations) {
    Finding finding = Claim(window, 5, 8);
    finding.evidence[0].samples = 8;
    finding.evidence.push_back({.name = std::string(kExcessOverNoise),
                                .unit = "ratio",
                                .culprit = deviations,
                                .samples = 8});
    return finding;
  };
  ClaimMemory memory;
  EXPECT_THAT(Ripen(memory, 1, {claim(1, 3.5)}), IsEmpty());
  EXPECT_THAT(Ripen(memory, 2, {claim(2, 3.5)}), SizeIs(1));
  EXPECT_THAT(Ripen(memory, 9, {claim(9, 6.5)}), SizeIs(1));
}

TEST(ClaimMemory, TheUnluckiestOfManyIsNoReturn) {
  const auto claim = [](int64_t window, double deviations) {
    Finding finding = Claim(window, 5, 4);  // of eight steps
    finding.evidence[0].samples = 8;
    finding.evidence.push_back({.name = std::string(kExcessOverNoise),
                                .unit = "ratio",
                                .culprit = deviations,
                                .samples = 8});
    return finding;
  };
  ClaimMemory by_little;
  EXPECT_THAT(Ripen(by_little, 1, {claim(1, 3.5)}), IsEmpty());
  EXPECT_THAT(Ripen(by_little, 20, {claim(20, 3.5)}), SizeIs(1)) << "the same rank again";
  ClaimMemory by_much;
  EXPECT_THAT(Ripen(by_much, 1, {claim(1, 6.5)}), SizeIs(1));
}

TEST(ClaimMemory, WhatTakesTurnsMayTakeHalfOfTheStepsOfOneWindow) {
  const auto claim = [](int64_t window, int32_t rank) {
    Finding finding = Claim(window, rank, 4);
    finding.evidence[0].samples = 8;
    finding.evidence.push_back(
        {.name = std::string(kExcessOverNoise), .unit = "ratio", .culprit = 11, .samples = 8});
    return finding;
  };
  ClaimMemory memory;
  Ripen(memory, 1, {claim(1, 7), claim(1, 12)});
  EXPECT_THAT(Ripen(memory, 7, {claim(7, 5)}), IsEmpty())
      << "the next four of eight steps may be another rank's";
  EXPECT_THAT(Ripen(memory, 8, {claim(8, 5)}), SizeIs(1));
}

TEST(ClaimMemory, AClaimMayAskForMoreWindows) {
  ClaimMemory memory;
  const auto faint = [](int64_t window) {
    Finding claim = Claim(window, 5, 4);
    claim.kind = FindingKind::kCommunication;
    claim.evidence.push_back({.name = std::string(kSeenInWindows),
                              .unit = "count",
                              .culprit = 1,
                              .threshold = 3,
                              .samples = 1});
    return claim;
  };
  EXPECT_THAT(Ripen(memory, 1, {faint(1)}), IsEmpty());
  EXPECT_THAT(Ripen(memory, 2, {faint(2)}), IsEmpty());
  ClaimMemory restarted;
  restarted.Restore(memory.State());
  const std::vector<Finding> ripe = Ripen(restarted, 4, {faint(4)});
  ASSERT_THAT(ripe, SizeIs(1));
  EXPECT_EQ(ripe[0].first_window, 1);
}

TEST(ClaimMemory, OneWindowAndManyWithoutItIsNoise) {
  ClaimMemory memory;
  EXPECT_THAT(Ripen(memory, 1, {Claim(1, 5, 4)}), IsEmpty());
  EXPECT_THAT(Ripen(memory, 5, {Claim(5, 5, 4)}), IsEmpty());
  EXPECT_THAT(Ripen(memory, 6, {Claim(6, 9, 4)}), IsEmpty()) << "another rank";
}

// Lengths that are drawn anew, of two replicas: now the ranks of one are slow in a window, and now
// those of the other.
TEST(ClaimMemory, WhereClaimsComeToNothingTheSameRankMustComeBackMoreOften) {
  for (const bool uneven : {false, true}) {
    ClaimMemory memory;
    int64_t window = 0;
    for (; window < 60; ++window) {
      std::vector<Finding> claims;
      if (uneven && window % 6 == 0)
        claims.push_back(Claim(window, static_cast<int32_t>(window / 6 * 5 % kRanks), 4));
      EXPECT_THAT(Ripen(memory, window, claims), IsEmpty()) << window;
    }
    int64_t times = 1;
    while (times < 9 && Ripen(memory, window, {Claim(window, 13, 4)}).empty()) ++times, ++window;
    EXPECT_EQ(times, uneven ? 3 : 2);
  }
}

// Nor is what has come of claims any reason to doubt the next ones.
TEST(ClaimMemory, FaultsThatWereToldMakeNoUnrest) {
  ClaimMemory memory;
  for (int64_t window = 0; window < 60; window += 3) {
    const auto rank = static_cast<int32_t>(window % kRanks);
    Ripen(memory, window, {Claim(window, rank, 4)});
    EXPECT_THAT(Ripen(memory, window + 1, {Claim(window + 1, rank, 4)}), SizeIs(1)) << window;
  }
}

TEST(ClaimMemory, TwoFaultsThatBeginTogetherAreOpenedTogether) {
  ClaimMemory memory;
  EXPECT_THAT(Ripen(memory, 3, {Claim(3, 5, 4), Claim(3, 9, 4)}), IsEmpty());
  EXPECT_THAT(Ripen(memory, 4, {Claim(4, 5, 4), Claim(4, 9, 4)}), SizeIs(2));
}

// A NIC that two ranks share: both are claimed, and then one of them for both.
TEST(ClaimMemory, WhatIsClaimedBesideAFaultIsNoUnrest) {
  for (const bool beside : {true, false}) {
    ClaimMemory memory;
    std::vector<Finding> before;
    std::vector<Finding> claims = {Claim(3, 5, 4)};
    (beside ? claims : before).push_back(Claim(beside ? 3 : 2, 9, 4));
    EXPECT_THAT(Ripen(memory, 2, before), IsEmpty());
    EXPECT_THAT(Ripen(memory, 3, claims), IsEmpty());
    EXPECT_EQ(Ripen(memory, 4, {Claim(4, 5, 4)}).size(), beside ? 1u : 0u);
  }
}

Finding FarOff(Finding claim, double deviations) {
  claim.evidence.push_back({.name = std::string(kExcessOverNoise),
                            .unit = "ratio",
                            .culprit = deviations,
                            .samples = 4});
  return claim;
}

TEST(ClaimMemory, ASlowDeviceIsNoSlowHost) {
  const auto host = [](int64_t window) {
    Finding finding = Claim(window, 0, 4);
    for (int32_t rank = 1; rank < 8; ++rank) finding.culprits.push_back({.rank = rank});
    return finding;
  };
  ClaimMemory memory;
  EXPECT_THAT(Ripen(memory, 1, {Claim(1, 5, 4)}), IsEmpty());
  EXPECT_THAT(Ripen(memory, 2, {Claim(2, 5, 4)}), SizeIs(1));
  EXPECT_THAT(Ripen(memory, 3, {host(3)}), IsEmpty()) << "only one of its ranks was reported";
  EXPECT_THAT(Ripen(memory, 4, {host(4)}), SizeIs(1));
  ClaimMemory unreported;
  EXPECT_THAT(Ripen(unreported, 1, {Claim(1, 5, 4)}), IsEmpty());
  EXPECT_THAT(Ripen(unreported, 2, {host(2)}), SizeIs(1))
      << "the rank may be the first that showed it";
}

TEST(ClaimMemory, AFaultThatBeginsLateInAWindowShowsInIt) {
  for (const double deviations : {40.0, 5.0}) {
    for (const std::string before : {"gemm", "sort"}) {
      ClaimMemory memory;
      EXPECT_THAT(Ripen(memory, 1, {FarOff(Claim(1, 5, 1, before), deviations)}), IsEmpty());
      const bool shows = deviations > 6 && before == "gemm";
      EXPECT_EQ(Ripen(memory, 2, {FarOff(Claim(2, 5, 4), deviations)}).size(), shows ? 1u : 0u)
          << deviations << before;
    }
  }
}

// A fault that begins with the last step of a window.
TEST(ClaimMemory, AFunctionThatNobodyElseRunsIsTheSameFaultInFewStepsAndInAll) {
  const auto foreign = [](int64_t window, double steps, double peers, double active) {
    Finding claim = Claim(window, 5, steps, "read", FunctionClass::kPython);
    claim.evidence.push_back({.name = "function_time_per_step",
                              .unit = "ns",
                              .culprit = 1e7,
                              .peers = peers,
                              .samples = 4});
    claim.evidence.push_back(
        {.name = "active_steps", .unit = "count", .culprit = active, .samples = 4});
    return claim;
  };
  const auto opened = [&](double peers, double active) {
    ClaimMemory memory;
    EXPECT_THAT(Ripen(memory, 1, {foreign(1, 1, peers, 1)}), IsEmpty());
    return Ripen(memory, 2, {foreign(2, 4, peers, active)}).size() == 1;
  };
  EXPECT_TRUE(opened(0, 4));
  EXPECT_FALSE(opened(1e6, 4)) << "peers run it, too";
  EXPECT_FALSE(opened(0, 2)) << "what makes the rank slow in two of the steps is something else";
}

TEST(ClaimMemory, ALookOverTwoWindowsHasSeenTwo) {
  const auto opened = [](double windows) {
    ClaimMemory memory;
    Finding claim = Claim(2, 5, 6);
    claim.evidence[0].samples = 6;
    claim.evidence.push_back(
        {.name = "slow_windows", .unit = "count", .culprit = windows, .samples = 2});
    return Ripen(memory, 2, {claim}).size() == 1;
  };
  EXPECT_TRUE(opened(2));
  EXPECT_FALSE(opened(1));
}

TEST(ClaimMemory, TwoAccidentsOfOneRankAreNoCoincidence) {
  const auto opened = [](double deviations, const std::vector<int32_t>& ranks,
                         FunctionClass function_class = FunctionClass::kGpuCompute) {
    ClaimMemory memory;
    std::vector<Finding> ripe;
    for (size_t i = 0; i < ranks.size(); ++i) {
      const auto window = static_cast<int64_t>(3 * i);
      Finding claim = Claim(window, ranks[i], 1, "f", function_class);
      claim.evidence.push_back({.name = std::string(kExcessOverNoise),
                                .unit = "ratio",
                                .culprit = deviations,
                                .samples = 4});
      ripe = Ripen(memory, window, {claim});
    }
    return ripe.size() == 1;
  };
  EXPECT_TRUE(opened(40, {5, 5}));
  EXPECT_FALSE(opened(12, {5, 5})) << "uneven steps go so far";
  EXPECT_FALSE(opened(40, {5, 6}));
  EXPECT_FALSE(opened(40, {1, 2, 5, 3, 5})) << "a job in which accidents are common";
  EXPECT_FALSE(opened(40, {5, 5}, FunctionClass::kPython))
      << "others may collect their garbage later";
}

// Memory that is given back and taken anew: in some steps, in two windows.
TEST(ClaimMemory, TwiceInCallsThatNobodyElseMakesIsNoCoincidence) {
  const auto opened = [](double peers, int32_t second,
                         FunctionClass function_class = FunctionClass::kCpuOp) {
    ClaimMemory memory;
    const auto claim = [&](int64_t window, int32_t rank, double slow_steps) {
      Finding of_calls = FarOff(
          Claim(window, rank, slow_steps, window == 1 ? "cudaMalloc" : "cudaFree", function_class),
          12);
      of_calls.evidence.push_back({.name = "function_time_per_step",
                                   .unit = "ns",
                                   .culprit = 1e7,
                                   .peers = peers,
                                   .samples = 4});
      of_calls.evidence.push_back(
          {.name = "active_steps", .unit = "count", .culprit = slow_steps, .samples = 4});
      return of_calls;
    };
    EXPECT_THAT(Ripen(memory, 1, {claim(1, 5, 1)}), IsEmpty());
    return Ripen(memory, 2, {claim(2, second, 1)}).size() == 1;
  };
  EXPECT_TRUE(opened(0, 5));
  EXPECT_FALSE(opened(0, 6)) << "another rank";
  EXPECT_FALSE(opened(1e6, 5)) << "the others call it, too";
  EXPECT_FALSE(opened(0, 5, FunctionClass::kPython)) << "what is sampled now and then";
}

TEST(ClaimMemory, APortThatFlapsComesBackLate) {
  const auto opened = [](FindingKind kind, bool others) {
    ClaimMemory memory;
    const auto claim = [kind](int64_t window, int32_t rank) {
      Finding of_rank = Claim(window, rank, 4);
      of_rank.kind = kind;
      return of_rank;
    };
    Ripen(memory, 1, {claim(1, 5)});
    for (int32_t window = 2; window < 9; ++window)
      Ripen(memory, window,
            others ? std::vector{claim(window, window + 4)} : std::vector<Finding>());
    return Ripen(memory, 9, {claim(9, 5)}).size() == 1;
  };
  EXPECT_TRUE(opened(FindingKind::kCommunication, false));
  EXPECT_FALSE(opened(FindingKind::kCommunication, true))
      << "a crowded network: now this port, now that one";
  EXPECT_FALSE(opened(FindingKind::kSlowRank, false));
}

TEST(ClaimMemory, ALinkThatIsGoneIsNoPassingLoad) {
  for (const std::string_view subkind : {std::string_view("nvlink"), kNvlinkDown}) {
    ClaimMemory memory;
    Finding claim = Claim(1, 5, 4);
    claim.kind = FindingKind::kCommunication;
    claim.subkind = subkind;
    EXPECT_EQ(Ripen(memory, 1, {claim}).size(), subkind == kNvlinkDown ? 1u : 0u) << subkind;
  }
}

// Where a rank has one peer, eight steps of uneven lengths make it six deviations late more often
// than once in a thousand windows.
TEST(ClaimMemory, FewStepsThatVaryTellOfNobodyAlone) {
  for (const double p_value : {1e-4, 1e-9}) {
    ClaimMemory memory;
    Finding claim = Claim(1, 5, 7);
    claim.evidence[0].samples = 8;
    claim.evidence.push_back({.name = std::string(kPValueOfExcess),
                              .unit = "probability",
                              .culprit = p_value,
                              .samples = 8});
    EXPECT_EQ(Ripen(memory, 1, {claim}).size(), p_value > 1e-6 ? 0u : 1u);
  }
}

TEST(ClaimMemory, AJobOfOneWindowIsJudgedByIt) {
  ClaimMemory memory;
  EXPECT_THAT(Ripen(memory, 0, {Claim(0, 5, 4)}, true), SizeIs(1));
  ClaimMemory longer;
  Ripen(longer, 0, {});
  EXPECT_THAT(Ripen(longer, 1, {Claim(1, 5, 4)}, true), IsEmpty());
}

TEST(ClaimMemory, ASpikeThatComesBackToOneRankIsTransient) {
  ClaimMemory memory;
  EXPECT_THAT(Ripen(memory, 1, {Claim(1, 5, 1)}), IsEmpty());
  EXPECT_THAT(Ripen(memory, 6, {Claim(6, 5, 1)}), IsEmpty());
  const std::vector<Finding> ripe = Ripen(memory, 10, {Claim(10, 5, 1)});
  EXPECT_THAT(ripe, IsEmpty()) << "three times on one of sixteen: once in 256 jobs";
  const std::vector<Finding> again = Ripen(memory, 12, {Claim(12, 5, 1)});
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].subkind, kTransient);
  EXPECT_EQ(FindLasted(again[0])->samples, 4u);
  EXPECT_NEAR(again[0].lost_ns_per_step, 1e6 * 4 / 12, 1) << "of all steps since the first";
}

TEST(ClaimMemory, WhoIsLastNowAndThenMustBeSoOnceMore) {
  const auto windows_until_told = [](std::string_view subkind) {
    ClaimMemory memory;
    int64_t window = 1;
    const auto claim = [subkind](int64_t at) {
      Finding finding = Claim(at, 5, 1);
      finding.subkind = subkind;
      return finding;
    };
    while (window < 20 && Ripen(memory, window, {claim(window)}).empty()) ++window;
    return window;
  };
  EXPECT_EQ(windows_until_told(kLateArrival), windows_until_told(kTransient) + 1);
}

TEST(ClaimMemory, SpikesInTheSameFunctionTakeTurns) {
  const auto told = [](FunctionClass function_class) {
    ClaimMemory memory;
    std::vector<Finding> ripe;
    for (int64_t window = 0; window < 3; ++window) {
      Finding claim = Claim(window, static_cast<int32_t>(5 + window), 1);
      claim.subkind = kTransient;
      claim.function = "collect";
      claim.function_class = function_class;
      claim.lost_gpu_seconds_per_hour = 0.02 * 3600 * claim.world_size;
      ripe = Ripen(memory, window, {claim});
      EXPECT_TRUE(window == 2 || ripe.empty());
    }
    return ripe;
  };
  const std::vector<Finding> by_turns = told(FunctionClass::kPython);
  ASSERT_THAT(by_turns, SizeIs(1));
  EXPECT_EQ(by_turns[0].subkind, kRoaming);
  EXPECT_EQ(by_turns[0].kind, FindingKind::kStepTime);
  EXPECT_THAT(told(FunctionClass::kGpuCompute), IsEmpty()) << "devices have faults of their own";
}

TEST(ClaimMemory, OneStepOfEachShortWindowIsOneAccidentEach) {
  ClaimMemory memory;
  for (int64_t window = 0; window < 4; ++window) {
    Finding claim = Claim(window, 5, 1);
    claim.evidence[0].samples = 2;
    EXPECT_EQ(Ripen(memory, window, {claim}).size(), window < 3 ? 0u : 1u)
        << "three times on one of sixteen: once in 256 jobs";
  }
}

// Lengths that are drawn anew, in windows of two steps: in most of them somebody is slow. In a long
// job coincidence hits one rank often.
TEST(ClaimMemory, WhoIsAskedOftenNeedsMore) {
  const auto ripe_after = [](int64_t windows_of_others) {
    ClaimMemory memory;
    for (int64_t window = 0; window < windows_of_others; ++window) {
      EXPECT_THAT(
          Ripen(memory, window, {Claim(window, static_cast<int32_t>(window * 7 % kRanks), 1)}),
          IsEmpty());
    }
    int64_t times = 1;
    const int64_t begin = windows_of_others + 40;  // the others are forgotten
    while (times < 20 && Ripen(memory, begin + times, {Claim(begin + times, 5, 1)}).empty())
      ++times;
    return times;
  };
  EXPECT_EQ(ripe_after(0), 4);
  EXPECT_EQ(ripe_after(100), 6);
}

TEST(ClaimMemory, SpikesHereAndThereAreAccidents) {
  ClaimMemory memory;
  for (int64_t window = 0; window < 64; ++window) {
    EXPECT_THAT(
        Ripen(memory, window, {Claim(window, static_cast<int32_t>(window * 7 % kRanks), 1)}),
        IsEmpty())
        << window;
  }
}

TEST(ClaimMemory, TakingTurnsThatCostsNothingIsNotWorthAFinding) {
  for (const double share : {0.002, 0.02}) {
    ClaimMemory memory;
    Finding claim = Claim(1, -1, 1, "collect", FunctionClass::kPython);
    claim.kind = FindingKind::kStepTime;
    claim.subkind = kRoaming;
    claim.culprits.clear();
    claim.lost_gpu_seconds_per_hour = share * 3600 * kRanks;
    EXPECT_EQ(Ripen(memory, 1, {claim}).size(), share < 0.01 ? 0u : 1u);
  }
}

TEST(ClaimMemory, SpikesThatCostNothingAreNotWorthAFinding) {
  ClaimMemory memory;
  for (int64_t window = 0; window < 9; ++window) {
    Finding claim = Claim(window, 5, 1);
    claim.lost_gpu_seconds_per_hour = 0.005 * 3600 * kRanks;
    EXPECT_THAT(Ripen(memory, window, {claim}), IsEmpty());
  }
}

TEST(ClaimMemory, HostFunctionsThatRanksTakeTurnsInRoam) {
  ClaimMemory memory;
  EXPECT_THAT(Ripen(memory, 1, {Claim(1, 5, 1, "collect", FunctionClass::kPython)}), IsEmpty());
  EXPECT_THAT(Ripen(memory, 2, {Claim(2, 8, 2, "collect", FunctionClass::kPython)}), IsEmpty());
  const std::vector<Finding> ripe = Ripen(memory, 3,
                                          {Claim(3, 9, 1, "collect", FunctionClass::kPython),
                                           Claim(3, 5, 1, "collect", FunctionClass::kPython)});
  ASSERT_THAT(ripe, SizeIs(1));
  EXPECT_EQ(ripe[0].kind, FindingKind::kStepTime);
  EXPECT_THAT(ripe[0].culprits, IsEmpty());
}

TEST(ClaimMemory, RanksThatAreHardlyLateDoNotRoam) {
  for (const double deviations : {3.3, 5.0}) {
    ClaimMemory memory;
    size_t ripe = 0;
    for (int64_t window = 1; window < 4; ++window) {
      Finding claim =
          Claim(window, static_cast<int32_t>(3 * window), 1, "main", FunctionClass::kPython);
      claim.evidence.push_back({.name = std::string(kExcessOverNoise),
                                .unit = "ratio",
                                .culprit = deviations,
                                .samples = 4});
      ripe += Ripen(memory, window, {claim}).size();
    }
    EXPECT_EQ(ripe, deviations < 4 ? 0u : 1u);
  }
}

TEST(ClaimMemory, RanksThatComeTogetherTakeNoTurns) {
  ClaimMemory memory;
  Finding claim = Claim(1, 5, 1, "read", FunctionClass::kPython);
  for (const int32_t rank : {6, 7, 8}) claim.culprits.push_back({.rank = rank});
  EXPECT_THAT(Ripen(memory, 1, {claim}), IsEmpty());
}

TEST(ClaimMemory, UnevenWorkIsHeldBackToo) {
  ClaimMemory memory;
  Finding claim = Claim(1, 5, 4);
  claim.kind = FindingKind::kImbalance;
  claim.culprits.clear();
  EXPECT_THAT(Ripen(memory, 1, {claim}), IsEmpty());
  EXPECT_THAT(Ripen(memory, 2, {claim}), SizeIs(1));
}

TEST(ClaimMemory, OtherKindsPass) {
  ClaimMemory memory;
  Finding claim = Claim(1, 5, 1);
  claim.kind = FindingKind::kRegression;
  EXPECT_THAT(Ripen(memory, 1, {claim}), SizeIs(1));
}

}  // namespace
}  // namespace eroica
