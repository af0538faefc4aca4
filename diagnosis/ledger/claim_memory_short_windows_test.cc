// Windows of fractions of a second: what a host takes from a rank is a large part of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "diagnosis/ledger/claim_memory.h"
#include "diagnosis/ledger/claim_memory_test_claims.h"
#include "diagnosis/measurements/thread_function.h"
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
