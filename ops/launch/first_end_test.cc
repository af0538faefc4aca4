#include "ops/launch/first_end.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace eroica {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int kFailed = 1 << 8;  // a launcher's exit code 1, as waitpid has it

class FirstEndTest : public ::testing::Test {
 protected:
  void Begin(uint32_t ranks, pid_t first_pid = 100) {
    for (uint32_t rank = 0; rank < ranks; ++rank)
      first_.Begin({.rank = rank, .pid = first_pid + static_cast<pid_t>(rank), .seen_ns = 0});
  }
  void End(uint32_t rank, int64_t time_ns, ProcessEnd end, pid_t first_pid = 100) {
    first_.End({.process = {.rank = rank, .pid = first_pid + static_cast<pid_t>(rank)},
                .time_ns = time_ns,
                .end = end,
                .place = {}});
  }
  // By a signal that none of the others had got by then.
  void EndAlone(uint32_t rank, int64_t time_ns, ProcessEnd end) {
    first_.End({.process = {.rank = rank, .pid = 100 + static_cast<pid_t>(rank)},
                .time_ns = time_ns,
                .end = end,
                .place = {},
                .others_untold = true});
  }
  void EndIn(const std::string& function, uint32_t rank, int64_t time_ns, ProcessEnd end) {
    RankStanding place;
    place.function = function;
    first_.End({.process = {.rank = rank, .pid = 100 + static_cast<pid_t>(rank)},
                .time_ns = time_ns,
                .end = end,
                .place = place});
  }
  static constexpr ProcessEnd kKilled{.signal = SIGKILL};
  static constexpr ProcessEnd kTerminated{.signal = SIGTERM};
  static constexpr ProcessEnd kError{.exit_code = 1};
  static constexpr ProcessEnd kSuccess{.exit_code = 0};
  static constexpr ProcessEnd kUnknown{};

  // The rank that is named, and nobody after it; -1: nobody.
  static int64_t RankOf(std::optional<EndedRank> first) {
    return first ? static_cast<int64_t>(first->process.rank) : -1;
  }
  int64_t AtEnd(const JobEnd& end = {.wait_status = kFailed}) {
    const int64_t rank = RankOf(first_.TakeAtEnd(end));
    EXPECT_EQ(RankOf(first_.TakeAtEnd(end)), -1);
    return rank;
  }

  FirstEnd first_;
};

TEST_F(FirstEndTest, TheLauncherEndsTheOthers) {
  Begin(4);
  End(2, 10 * kSecond, kKilled);
  for (const uint32_t rank : {0u, 1u, 3u}) End(rank, 10 * kSecond + 200'000'000, kTerminated);
  EXPECT_EQ(RankOf(first_.Take(20 * kSecond)), -1) << "nobody runs on: the launcher will say";
  EXPECT_EQ(AtEnd(), 2);
}

TEST_F(FirstEndTest, TheOthersFailBecauseOfIt) {
  Begin(3);
  End(1, 10 * kSecond, kError);
  End(0, 11 * kSecond, kError);
  End(2, 12 * kSecond, {.signal = SIGABRT});
  EXPECT_EQ(AtEnd(), 1);
}

TEST_F(FirstEndTest, TheOthersWaitForIt) {
  Begin(2);
  End(1, 10 * kSecond, kKilled);
  EXPECT_EQ(RankOf(first_.Take(10 * kSecond + FirstEnd::kOthersRunNs - 1)), -1);
  EXPECT_EQ(RankOf(first_.Take(10 * kSecond + FirstEnd::kOthersRunNs)), 1);
  EXPECT_EQ(RankOf(first_.Take(60 * kSecond)), -1) << "once";
  EXPECT_EQ(AtEnd(), -1);
}

TEST_F(FirstEndTest, ALauncherThatKillsItsWorkersAtTheEndIsWell) {
  Begin(4);
  for (uint32_t rank = 0; rank < 4; ++rank) End(rank, 10 * kSecond + rank, kKilled);
  EXPECT_EQ(RankOf(first_.Take(60 * kSecond)), -1);
  EXPECT_EQ(AtEnd({.wait_status = 0}), -1);
}

TEST_F(FirstEndTest, SuccessIsNoFailure) {
  Begin(2);
  End(0, 10 * kSecond, kSuccess);
  EXPECT_EQ(RankOf(first_.Take(60 * kSecond)), -1);
  End(1, 70 * kSecond, kError);
  EXPECT_EQ(AtEnd(), 1);
}

TEST_F(FirstEndTest, ARankThatLeavesBeforeTheOthersMakesThemFail) {
  Begin(4);
  End(2, 10 * kSecond, kSuccess);
  End(1, 12 * kSecond, kError);
  End(3, 12 * kSecond + 1, kError);
  End(0, 12 * kSecond + 2, kTerminated);
  EXPECT_EQ(AtEnd(), 2);
}

// torchrun ends the others before they have failed.
TEST_F(FirstEndTest, WhoFailsAsItTrainsDoesSoForWantOfTheOneThatLeft) {
  struct Row {
    const char* function;
    int64_t named;
  };
  constexpr Row kRows[] = {{"torch/autograd/graph.py(1100): _engine_run_backward", 2},
                           {"torch.distributed:wait", 2},
                           {"train.py(90): save", 1}};
  for (const Row& row : kRows) {
    first_ = {};
    Begin(4);
    End(2, 10 * kSecond, kSuccess);
    EndIn(row.function, 1, 12 * kSecond, kError);
    for (const uint32_t rank : {0u, 3u}) End(rank, 12 * kSecond + 1 + rank, kTerminated);
    EXPECT_EQ(AtEnd(), row.named) << row.function;
  }
}

TEST_F(FirstEndTest, OneThatFailsWhenTheTrainingIsCompleteIsNamed) {
  Begin(4);
  for (const uint32_t rank : {1u, 2u, 3u}) End(rank, 10 * kSecond + rank, kSuccess);
  End(0, 11 * kSecond, kError);
  EXPECT_EQ(AtEnd(), 0);
}

TEST_F(FirstEndTest, OneThatFailsWhileOthersStillEndIsNamed) {
  Begin(4);
  End(3, 10 * kSecond, kSuccess);
  End(0, 11 * kSecond, kError);
  for (const uint32_t rank : {1u, 2u}) End(rank, 11 * kSecond + rank, kTerminated);
  EXPECT_EQ(AtEnd(), 0);
}

TEST_F(FirstEndTest, ASuccessAfterTheFailureIsNoCause) {
  Begin(4);
  End(1, 10 * kSecond, kError);
  End(2, 10 * kSecond + 1, kSuccess);
  End(3, 10 * kSecond + 2, kError);
  EXPECT_EQ(AtEnd(), 1);
}

TEST_F(FirstEndTest, TheSuccessOfATrainingBeforeIsNoCause) {
  Begin(3);
  for (uint32_t rank = 0; rank < 3; ++rank) End(rank, 10 * kSecond + rank, kSuccess);
  Begin(3, 200);
  End(1, 20 * kSecond, kError, 200);
  End(0, 20 * kSecond + 1, kError, 200);
  EXPECT_EQ(AtEnd(), 1);
}

TEST_F(FirstEndTest, AJobThatIsToldToEndDoes) {
  Begin(2);
  End(0, 10 * kSecond, kError);
  End(1, 11 * kSecond, kError);
  EXPECT_EQ(AtEnd({.wait_status = kFailed, .told_ns = 9 * kSecond}), -1);
}

TEST_F(FirstEndTest, ARankThatEndedBeforeTheJobWasToldIsWhyItWas) {
  Begin(2);
  End(0, 10 * kSecond, kKilled);
  End(1, 13 * kSecond, {.signal = SIGINT});
  EXPECT_EQ(AtEnd({.wait_status = SIGINT, .told_ns = 12 * kSecond}), 0);
}

TEST_F(FirstEndTest, ASchedulerThatTellsTheJobAndAllRanks) {
  Begin(4);
  for (uint32_t rank = 0; rank < 4; ++rank) End(rank, 10 * kSecond + rank, kTerminated);
  EXPECT_EQ(AtEnd({.wait_status = SIGTERM, .told_ns = 10 * kSecond + 1}), -1);
}

// The job was not told: silence would say that it is well.
TEST_F(FirstEndTest, RanksThatAreToldTogetherHaveNoFirst) {
  Begin(4);
  for (uint32_t rank = 0; rank < 4; ++rank) End(rank, 10 * kSecond + rank, kTerminated);
  const std::optional<EndedRank> first = first_.TakeAtEnd({.wait_status = kFailed});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->end.job_failure, (JobFailure{.exit_code = 1, .ranks = 4, .within_ns = 3}));
  EXPECT_EQ(AtEnd(), -1) << "once";
}

TEST_F(FirstEndTest, OneThatEndedBeforeTheOthersWereToldIsTheFirst) {
  Begin(4);
  EndAlone(2, 10 * kSecond, kTerminated);
  for (const uint32_t rank : {0u, 1u, 3u}) End(rank, 10 * kSecond + kSecond / 5, kTerminated);
  const std::optional<EndedRank> first = first_.TakeAtEnd({.wait_status = SIGABRT});
  EXPECT_EQ(RankOf(first), 2);
  ASSERT_TRUE(first);
  EXPECT_EQ(
      first->end.job_failure,
      (JobFailure{.signal = SIGABRT, .ranks = 4, .within_ns = kSecond / 5, .others_untold = true}));
}

TEST_F(FirstEndTest, ARestartAfterOneThatWasToldAloneNamesIt) {
  Begin(2);
  EndAlone(1, 10 * kSecond, kTerminated);
  End(0, 10 * kSecond + 1, kTerminated);
  Begin(2, 200);
  const std::optional<EndedRank> first = first_.Take(15 * kSecond);
  EXPECT_EQ(RankOf(first), 1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->end.job_failure,
            (JobFailure{.ranks = 2, .within_ns = 1, .others_untold = true}));
}

TEST_F(FirstEndTest, AJobThatFailsBehindItsRanksIsNotWell) {
  Begin(2);
  for (const uint32_t rank : {0u, 1u}) End(rank, 10 * kSecond + rank, kSuccess);
  const std::optional<EndedRank> last = first_.TakeAtEnd({.wait_status = 3 << 8});
  ASSERT_TRUE(last);
  EXPECT_EQ(last->end.job_failure, JobFailure{.exit_code = 3});
  EXPECT_EQ(AtEnd(), -1) << "once";
}

TEST_F(FirstEndTest, AJobThatIsToldToEndBehindItsRanksIs) {
  Begin(2);
  for (const uint32_t rank : {0u, 1u}) End(rank, 10 * kSecond + rank, kSuccess);
  EXPECT_EQ(AtEnd({.wait_status = SIGTERM, .told_ns = 11 * kSecond}), -1);
}

TEST_F(FirstEndTest, OneRankThatSomebodyEndsIsNamed) {
  Begin(4);
  End(3, 10 * kSecond, kTerminated);
  End(0, 11 * kSecond, kError);
  EXPECT_EQ(AtEnd(), 3);
}

TEST_F(FirstEndTest, ARestartOfTheJobConfirmsTheFirstEnd) {
  Begin(2);
  End(1, 10 * kSecond, kError);
  End(0, 10 * kSecond + 1, kTerminated);
  EXPECT_EQ(RankOf(first_.Take(12 * kSecond)), -1);
  Begin(2, 200);
  EXPECT_EQ(RankOf(first_.Take(15 * kSecond)), 1);
  EXPECT_EQ(RankOf(first_.Take(60 * kSecond)), -1);
  End(0, 70 * kSecond, kKilled, 200);
  EXPECT_EQ(RankOf(first_.Take(80 * kSecond)), 0) << "of the second attempt";
}

TEST_F(FirstEndTest, AnEndWithUnknownStatusMayBeASuccess) {
  Begin(3);
  End(0, 10 * kSecond, kUnknown);
  EXPECT_EQ(RankOf(first_.Take(60 * kSecond)), -1) << "it may have been a success";
  End(1, 60 * kSecond, kError);
  EXPECT_EQ(AtEnd(), 1) << "well after it";
}

// Kernels before 6.15 keep no status that the launcher has taken.
TEST_F(FirstEndTest, OneTrainingAfterTheOtherIsNoFailure) {
  Begin(2);
  for (const uint32_t rank : {0u, 1u}) End(rank, 10 * kSecond + rank, kUnknown);
  Begin(2, 200);
  EXPECT_EQ(RankOf(first_.Take(60 * kSecond)), -1);
  for (const uint32_t rank : {0u, 1u}) End(rank, 70 * kSecond + rank, kSuccess, 200);
  EXPECT_EQ(AtEnd({.wait_status = 0}), -1);
}

TEST_F(FirstEndTest, WhereNothingIsKnownOfAnyTheFirstIsNamed) {
  Begin(3);
  End(2, 10 * kSecond, kUnknown);
  End(0, 10 * kSecond + 1, kUnknown);
  End(1, 10 * kSecond + 2, kError);
  EXPECT_EQ(AtEnd(), 2);
}

TEST_F(FirstEndTest, WithoutRanksThereIsNothingToSay) {
  EXPECT_EQ(RankOf(first_.Take(kSecond)), -1);
  EXPECT_EQ(AtEnd(), -1);
}

}  // namespace
}  // namespace eroica
