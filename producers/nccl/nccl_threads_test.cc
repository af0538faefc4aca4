// Whole jobs with NCCL's threads, over every version of the ABI; run it under a thread sanitizer,
// too.
#include <gtest/gtest.h>

#include <algorithm>

#include "producers/nccl/testing/harness_job.h"
#include "producers/nccl/testing/recorder_fixture.h"

namespace eroica::nccl {
namespace {

class NcclThreadsTest : public RecorderFixture {
 protected:
  // Every ticket that was given has been closed, once.
  void ExpectClosedBooks(uint64_t launched) {
    const recorded_core::Recorded all = recorded_core::Read();
    EXPECT_EQ(all.misuse, 0u);
    EXPECT_EQ(all.operations.size(), launched);
    for (const auto& operation : all.operations) {
      ASSERT_NE(operation.ended, operation.dropped);
      if (!operation.ended) continue;
      ASSERT_LE(operation.interval.start_ns, operation.interval.end_ns);
    }
    const RecorderStatistics counts = statistics();
    EXPECT_EQ(counts.launched, counts.ended + counts.ended_enqueued + counts.dropped);
    EXPECT_EQ(counts.malformed, 0u);
  }
};
INSTANTIATE_TEST_SUITE_P(Abi, NcclThreadsTest, ::testing::Values(3, 4, 5, 6, 7));

TEST_P(NcclThreadsTest, AJobIsTakenWhole) {
  const HarnessJob job = {.communicators = 3, .kernels = 200};
  const uint64_t launched = PlayJob(&harness(), job);
  EXPECT_EQ(launched, 1'800u);
  ExpectClosedBooks(launched);
  EXPECT_EQ(recorded_core::Read().communicators.size(), 3u);
  if (GetParam() == 3) return;  // ends at the first moment in which no channel runs
  EXPECT_EQ(statistics().ended, launched);
  EXPECT_EQ(statistics().untimed, 0u);
}

TEST_P(NcclThreadsTest, AJobWithTheNetwork) {
  UseOptions({.proxy_sampling = 3});
  const HarnessJob job = {.communicators = 3, .kernels = 100, .network = true};
  const uint64_t launched = PlayJob(&harness(), job);
  ExpectClosedBooks(launched);
  if (GetParam() > 3) {
    EXPECT_EQ(statistics().connections, launched);
  }
}

TEST_P(NcclThreadsTest, CommunicatorsAreFinalizedWhileChannelsRun) {
  for (int round = 0; round < 5; ++round) {
    PlayJob(&harness(),
            {.communicators = 3, .kernels = 40, .network = true, .finalize_early = true});
  }
  ExpectClosedBooks(statistics().launched);
}

TEST_P(NcclThreadsTest, PoolsRunOutUnderLoad) {
  UseOptions({}, {.operations = 6, .children = 9, .communicators = 3});
  const uint64_t launched = PlayJob(&harness(), {.communicators = 3, .kernels = 150});
  ExpectClosedBooks(launched);
  EXPECT_GT(statistics().no_room, 0u);
}

}  // namespace
}  // namespace eroica::nccl
