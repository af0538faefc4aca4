// Windows of fractions of a second: what a host takes from a rank is a large part of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "diagnosis/ledger/claim_memory.h"
#include "diagnosis/ledger/claim_memory_test_claims.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Finding Lasting(Finding claim, int64_t duration_ns) {
  claim.first_seen_ns = kWindowNs + claim.first_window * duration_ns;
  claim.last_seen_ns = claim.first_seen_ns + duration_ns;
  return claim;
}

// The window in which the claim of each window opens a finding.
std::optional<int64_t> OpensIn(int64_t duration_ns, const auto& claim_of) {
  ClaimMemory memory;
  for (int64_t window = 1; window <= 40; ++window) {
    if (!Ripen(memory, window, {Lasting(claim_of(window), duration_ns)}).empty()) return window;
  }
  return std::nullopt;
}

// One step of four, now of this rank and now of that one, a tenth of the window each.
std::vector<Finding> AfterTurns(int64_t duration_ns, int64_t windows, int64_t every) {
  ClaimMemory memory;
  std::vector<Finding> ripe;
  for (int64_t window = 1; window <= windows; ++window) {
    std::vector<Finding> claims;
    if (window % every == 0) {
      const auto rank = static_cast<int32_t>(window / every % 3);
      Finding claim = Claim(window, rank, 1, "train.py(9): read", FunctionClass::kPython);
      claim.subkind = kTransient;
      claims.push_back(Lasting(claim, duration_ns));
    }
    ripe = Ripen(memory, window, std::move(claims));
    if (!ripe.empty()) break;
  }
  return ripe;
}

TEST(ClaimMemoryShortWindows, TurnsMustCostTheirShareOfSeconds) {
  EXPECT_THAT(AfterTurns(12 * kNsPerSecond, 4, 1), SizeIs(1));
  EXPECT_THAT(AfterTurns(100 * kNsPerMs, 8, 4), IsEmpty()) << "two accidents in a second";
  EXPECT_THAT(AfterTurns(300 * kNsPerMs, 32, 1), SizeIs(1)) << "they come all the time";
}

// A rotation that a single window shows.
TEST(ClaimMemoryShortWindows, ARotationMustCostItsShareOfSecondsToo) {
  const auto rotation = [](int64_t window) {
    Finding claim = Claim(window, 0, 1, "train.py(9): read", FunctionClass::kPython);
    claim.kind = FindingKind::kStepTime;
    claim.subkind = kRoaming;
    claim.culprits.clear();
    claim.lost_gpu_seconds_per_hour = 0.03 * 3600 * kRanks;
    return claim;
  };
  EXPECT_EQ(OpensIn(12 * kNsPerSecond, rotation), 1);
  EXPECT_EQ(OpensIn(250 * kNsPerMs, rotation), 4) << "a hundredth of twelve windows";
}

// Where processors are short ranks wait for them in turn: an accident of the host, until it lasts.
TEST(ClaimMemoryShortWindows, ARotationOfWaitsForAProcessorMustLastForSeconds) {
  const auto rotation = [](int64_t window) {
    Finding claim =
        Claim(window, 0, 1, "(runnable, waiting for a processor)", FunctionClass::kPython);
    claim.kind = FindingKind::kStepTime;
    claim.subkind = kRoaming;
    claim.culprits.clear();
    claim.lost_gpu_seconds_per_hour = 0.06 * 3600 * kRanks;
    claim.evidence.push_back({.name = std::string(kSeenInWindows), .culprit = 1, .threshold = 2});
    return claim;
  };
  EXPECT_EQ(OpensIn(12 * kNsPerSecond, rotation), 4);
  EXPECT_EQ(OpensIn(300 * kNsPerMs, rotation), 8) << "2.4 s";
}

// A job of a single window is judged by what there is, unless the scheduler may take as much.
TEST(ClaimMemoryShortWindows, ASlowStepOfAShortJobMustCostMoreThanOneWaitForAProcessor) {
  const auto told = [](int64_t duration_ns, double slow_steps, FunctionClass function_class) {
    ClaimMemory memory;
    const Finding claim = Claim(0, 2, slow_steps, "train.py(9): read", function_class);
    return Ripen(memory, 0, {Lasting(claim, duration_ns)}, /*job_ends=*/true).size();
  };
  for (const FunctionClass one : {FunctionClass::kPython, FunctionClass::kGpuCompute}) {
    EXPECT_EQ(told(130 * kNsPerMs, 1, one), 0) << "a tenth of it: 13 ms";
    EXPECT_EQ(told(250 * kNsPerMs, 1, one), 1) << "25 ms";
    EXPECT_EQ(told(130 * kNsPerMs, 4, one), 1) << "every step shows it";
  }
}

// Nor by less than its steps differ: one sample among twenty steps of two milliseconds. What every
// second step costs has a large p-value as well, and much more than one wait.
TEST(ClaimMemoryShortWindows, LittleInAShortJobMustBeUnlikelyToBeUneven) {
  const auto told = [](double p_value, int64_t duration_ns) {
    ClaimMemory memory;
    Finding claim = Claim(0, 2, 4);
    claim.evidence.push_back(
        {.name = std::string(kPValueOfExcess), .culprit = p_value, .samples = 4});
    return Ripen(memory, 0, {Lasting(claim, duration_ns)}, /*job_ends=*/true).size();
  };
  EXPECT_EQ(told(0.036, 40 * kNsPerMs), 0);
  EXPECT_EQ(told(1e-3, 40 * kNsPerMs), 0) << "of 16 ranks, some show it in every sixtieth job";
  EXPECT_EQ(told(1e-5, 40 * kNsPerMs), 1);
  EXPECT_EQ(told(0.036, 400 * kNsPerMs), 1);
}

// At its start a job shares processors with what starts beside it; that says nothing of one slow
// step a second later.
TEST(ClaimMemoryShortWindows, ANeighborsVisitIsNoPastOfWhatTheRankRuns) {
  for (const bool visited : {false, true}) {
    ClaimMemory memory;
    const std::string before = visited ? std::string(kWaitForProcessor) + ")" : "train.py(9): read";
    Ripen(memory, 1, {Claim(1, 0, 3, before, FunctionClass::kPython)});
    Ripen(memory, 2, {});
    const Finding step = Claim(3, 0, 1, "train.py(9): read", FunctionClass::kPython);
    EXPECT_EQ(Ripen(memory, 3, {step}).size(), visited ? 0 : 1);
  }
}

// Another program takes the processor of one rank for most of a window.
TEST(ClaimMemoryShortWindows, ANeighborMustStayForSeconds) {
  for (const std::string& what :
       {std::string(kWaitForProcessor) + ")", std::string("every python function")}) {
    const auto slow = [&](int64_t window) {
      return Claim(window, 5, 4, what, FunctionClass::kPython);
    };
    EXPECT_EQ(OpensIn(200 * kNsPerMs, slow), 12) << what;
    EXPECT_EQ(OpensIn(600 * kNsPerMs, slow), 4) << what;
    EXPECT_EQ(OpensIn(8 * kNsPerSecond, slow), 2) << what;
    for (const int64_t duration_ns : {600 * kNsPerMs, 8 * kNsPerSecond}) {
      ClaimMemory memory;
      EXPECT_EQ(Ripen(memory, 0, {Lasting(slow(0), duration_ns)}, /*job_ends=*/true).size(),
                duration_ns > kNsPerSecond ? 1 : 0)
          << what;
    }
  }
}

// What else was claimed of the rank says nothing of a neighbor.
TEST(ClaimMemoryShortWindows, OtherClaimsOfTheRankAreNoNeighbors) {
  ClaimMemory memory;
  for (int64_t window = 1; window <= 3; ++window) {
    const Finding step = Claim(window, 5, 1, "train.py(9): read", FunctionClass::kPython);
    Ripen(memory, window, {Lasting(step, 600 * kNsPerMs)});
  }
  const Finding wait = Claim(4, 5, 4, std::string(kWaitForProcessor) + ")", FunctionClass::kPython);
  EXPECT_THAT(Ripen(memory, 4, {Lasting(wait, 600 * kNsPerMs)}), IsEmpty());
}

Finding OnSharedProcessors(int64_t window, int32_t rank) {
  Finding claim =
      Claim(window, rank, 4, std::string(kWaitForProcessor) + ")", FunctionClass::kPython);
  claim.evidence.push_back({.name = std::string(kSharedProcessors),
                            .unit = "ns",
                            .culprit = 3e7,
                            .peers = 2e6,
                            .samples = 4});
  return claim;
}

// One of 16 ranks waits longest. That it is the same one in three periods of 2.4 s happens to one
// job of 256, and in four to one of 4,096.
TEST(ClaimMemoryShortWindows, WhereProcessorsAreShortTheSameRankMustWaitLongestTooOften) {
  const auto same = [](int64_t window) { return OnSharedProcessors(window, 5); };
  EXPECT_EQ(OpensIn(600 * kNsPerMs, same), 16);
  EXPECT_EQ(OpensIn(5 * kNsPerSecond, same), 2);
  EXPECT_EQ(OpensIn(12 * kNsPerSecond, same), 1) << "five periods in most steps of a window";
  const auto by_turns = [](int64_t window) {
    return OnSharedProcessors(window, static_cast<int32_t>(window % 5));
  };
  EXPECT_EQ(OpensIn(2 * kNsPerSecond, by_turns), std::nullopt);
}

// Chance decides there, too: five periods, and the part of them that the rank has of the steps.
TEST(ClaimMemoryShortWindows, ASingleWindowOnSharedProcessorsMustHoldManyPeriods) {
  const auto opens = [](int64_t window_ns, double slow_steps) {
    Finding claim = Lasting(OnSharedProcessors(0, 5), window_ns);
    for (Measure& row : claim.evidence)
      if (row.name == "slow_steps") row.culprit = slow_steps;
    ClaimMemory memory;
    return !Ripen(memory, 0, {claim}, /*job_ends=*/true).empty();
  };
  EXPECT_TRUE(opens(12 * kNsPerSecond, 4));
  EXPECT_FALSE(opens(12 * kNsPerSecond, 3)) << "three of five: one of 30 jobs";
  EXPECT_FALSE(opens(5 * kNsPerSecond, 4)) << "two periods";
}

TEST(ClaimMemoryShortWindows, TurnsOnSharedProcessorsNeedFourWindows) {
  const auto wait = [](int64_t window) {
    Finding claim = Claim(window, static_cast<int32_t>(window % 5), 1,
                          std::string(kWaitForProcessor) + ")", FunctionClass::kPython);
    claim.subkind = kTransient;
    return claim;
  };
  ClaimMemory memory;
  for (int64_t window = 1; window <= 3; ++window) {
    EXPECT_THAT(Ripen(memory, window, {wait(window), wait(window + 1), wait(window + 2)}),
                IsEmpty())
        << window;
  }
}

}  // namespace
}  // namespace eroica
