#include "producers/nccl/device_clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "schemas/time_unit.h"

namespace eroica::nccl {
namespace {

constexpr uint64_t kDevice = 900'000'000'000;  // the device's timer when the host's clock is 0

TEST(DeviceClock, ThePromptestCallIsTheOffset) {
  DeviceClock clock;
  EXPECT_TRUE(clock.Observe(kDevice + 1'000, 1'000 + 50'000));  // 50 us late
  EXPECT_TRUE(clock.Observe(kDevice + 2'000, 2'000 + 300));     // the promptest
  EXPECT_TRUE(clock.Observe(kDevice + 3'000, 3'000 + 700'000));
  EXPECT_EQ(clock.ToHost(kDevice + 10'000), 10'300);
}

TEST(DeviceClock, FollowsADeviceThatDrifts) {
  DeviceClock clock;
  constexpr double kDrift = 1e-4;  // 100 ppm: 360 ms an hour
  int64_t worst_ns = 0;
  for (int64_t now_ns = 0; now_ns < 3'600 * kNsPerSecond; now_ns += kNsPerSecond / 4) {
    const auto lag_ns = static_cast<int64_t>(static_cast<double>(now_ns) * kDrift);
    const uint64_t timer = kDevice + static_cast<uint64_t>(now_ns - lag_ns);
    const int64_t late_ns = now_ns / kNsPerSecond % 3 * 20'000;
    ASSERT_TRUE(clock.Observe(timer, now_ns + late_ns));
    const int64_t error_ns = clock.ToHost(timer) - now_ns;
    worst_ns = std::max(worst_ns, error_ns < 0 ? -error_ns : error_ns);
  }
  // The horizon times the drift, and what is late all the time.
  EXPECT_LE(worst_ns, static_cast<int64_t>(2 * 2 * DeviceClock::kBucketNs * kDrift) + 40'000);
}

TEST(DeviceClock, StartsAnewAfterAPause) {
  DeviceClock clock;
  clock.Observe(kDevice, 100);
  const int64_t later = 5 * DeviceClock::kBucketNs;
  EXPECT_TRUE(clock.Observe(kDevice + static_cast<uint64_t>(later), later + 2'000'000));
  EXPECT_EQ(clock.ToHost(kDevice + static_cast<uint64_t>(later)), later + 2'000'000);
}

TEST(DeviceClock, RefusesWhatIsNoTime) {
  DeviceClock clock;
  EXPECT_FALSE(clock.Observe(0, 100));
  EXPECT_FALSE(clock.Observe(UINT64_MAX, 100));
  EXPECT_TRUE(clock.Observe(kDevice, 100));
  EXPECT_FALSE(clock.Observe(kDevice + 60 * kNsPerSecond, 200));
  EXPECT_FALSE(clock.Observe(1, 300));
  EXPECT_EQ(clock.ToHost(kDevice), 100);
}

TEST(DeviceClock, BelievesATimerThatWasSet) {
  DeviceClock clock;
  clock.Observe(kDevice, 100);
  for (uint32_t i = 1; i < DeviceClock::kMostImplausible; ++i) {
    EXPECT_FALSE(clock.Observe(5 + i, 100 + i));
  }
  EXPECT_TRUE(clock.Observe(1'000, 2'000));
  EXPECT_EQ(clock.ToHost(1'000), 2'000);
}

TEST(DeviceClock, AnyThreadObserves) {
  DeviceClock clock;
  std::atomic<int64_t> now_ns{1};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        const int64_t now = now_ns.fetch_add(kNsPerSecond / 1'000);
        clock.Observe(kDevice + static_cast<uint64_t>(now), now);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clock.ToHost(kDevice + 5), 5) << "all saw the same offset";
}

}  // namespace
}  // namespace eroica::nccl
