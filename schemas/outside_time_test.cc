#include "schemas/outside_time.h"

#include <gtest/gtest.h>

#include <limits>

namespace eroica {
namespace {

constexpr int64_t kMost = CodecLimits::kMaxTimeNs;

int64_t OfFile(int64_t seconds, int64_t ns) {
  struct stat status {};
  status.st_mtim = {.tv_sec = seconds, .tv_nsec = ns};
  return ModifiedNs(status);
}

TEST(OutsideTime, OfARecord) {
  EXPECT_EQ(BoundedNsOfMs(1'700'000'000'123), 1'700'000'000'123'000'000);
  EXPECT_EQ(BoundedNsOfMs(-1), 0);
  EXPECT_EQ(BoundedNsOfMs(std::numeric_limits<int64_t>::min()), 0);
  for (const int64_t ms : {kMost / kNsPerMs, kMost, std::numeric_limits<int64_t>::max()}) {
    EXPECT_LE(BoundedNsOfMs(ms), kMost);
    EXPECT_GT(BoundedNsOfMs(ms), kMost - kNsPerMs);
  }
}

TEST(OutsideTime, OfAFile) {
  constexpr int64_t kYear2400 = 13'569'465'600;
  EXPECT_EQ(OfFile(1'700'000'000, 5), 1'700'000'000'000'000'005);
  EXPECT_EQ(OfFile(-1, 999'999'999), 0) << "before 1970";
  EXPECT_EQ(OfFile(std::numeric_limits<int64_t>::min(), 0), 0);
  EXPECT_EQ(OfFile(kYear2400, 0), kMost);
  EXPECT_EQ(OfFile(std::numeric_limits<int64_t>::max(), 999'999'999), kMost);
}

}  // namespace
}  // namespace eroica
