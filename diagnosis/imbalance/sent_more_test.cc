#include "diagnosis/imbalance/sent_more.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "diagnosis/training_view.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Gigabytes that each rank exchanges.
TrainingView Exchanging(const std::vector<double>& gigabytes, int64_t window) {
  TrainingView job(static_cast<uint32_t>(gigabytes.size()));
  for (uint32_t rank = 0; rank < gigabytes.size(); ++rank) {
    job.Run(rank, "gemm", 50, "", FunctionClass::kGpuCompute)
        .Run(rank, "SendRecv", 1, "", FunctionClass::kCollective);
    job.batches()[rank].patterns.back().bytes = static_cast<uint64_t>(1e9 * gigabytes[rank]);
  }
  job.Finish();
  for (PatternBatch& batch : job.batches()) batch.window.index = window;
  return job;
}

std::vector<SentMore> SentMoreIn(const std::vector<double>& before,
                                 const std::vector<double>& now) {
  TrainingView first = Exchanging(before, 1);
  const std::vector<RankTimes> past = {CrossRankView(first.batches(), {}).exchanged()};
  TrainingView second = Exchanging(now, 2);
  return SentMoreInTwoWindows(CrossRankView(second.batches(), {}, {.bytes = past}));
}

const std::vector<double> kBefore = {1.0,  1.1,  0.9,  1.05, 0.95, 3,
                                     1.12, 0.88, 1.02, 0.97, 1.07, 0.93};
const std::vector<double> kNow = {1.08, 0.92, 0.99, 0.9,  1.03, 3,
                                  0.96, 1.01, 1.1,  0.89, 0.94, 1.06};

TEST(SentMore, WhoIsFarAboveItsPeersInTwoWindowsRunning) {
  const std::vector<SentMore> sent = SentMoreIn(kBefore, kNow);
  ASSERT_THAT(sent, SizeIs(1));
  EXPECT_EQ(sent[0].rank, 5u);
  EXPECT_LT(sent[0].chance, 1e-8);
}

TEST(SentMore, OneWindowIsChance) {
  std::vector<double> usual = kBefore;
  usual[5] = 1;
  EXPECT_THAT(SentMoreIn(usual, kNow), IsEmpty());
}

TEST(SentMore, WhereRanksDifferForLongTwoWindowsAreNoMoreThanOne) {
  std::vector<double> before = kBefore;
  std::vector<double> now = kNow;
  before[5] = now[5] = 1.55;
  EXPECT_THAT(SentMoreIn(before, now), SizeIs(1));
  EXPECT_THAT(SentMoreIn(now, now), IsEmpty());
}

TEST(SentMore, WhoIsTooFarAboveForOneWindowIsSoWhereRanksDifferForLong) {
  EXPECT_THAT(SentMoreIn(kNow, kNow), SizeIs(1));
}

TEST(SentMore, FewPeersTellNothing) {
  EXPECT_THAT(SentMoreIn({1.0, 1.1, 0.9, 1.05, 0.95, 3}, {1.08, 0.92, 0.99, 0.9, 1.03, 3}),
              IsEmpty());
}

TEST(SentMore, RanksThatShareWhatTheyExchangeAreOne) {
  std::vector<double> before;
  std::vector<double> now;
  for (size_t i = 0; i < 6; ++i) {
    before.insert(before.end(), 4, kBefore[i]);
    now.insert(now.end(), 4, kNow[i]);
  }
  EXPECT_THAT(SentMoreIn(before, now), IsEmpty()) << "six of them are too few";
}

}  // namespace
}  // namespace eroica
