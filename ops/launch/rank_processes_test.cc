#include "ops/launch/rank_processes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "ops/launch/testing/rank_process.h"
#include "producers/core/place_note.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLongest{60};
const std::string kLives = "while True: signal.pause()\n";

class RankProcessesTest : public ::testing::Test {
 protected:
  EndedRank AwaitEnd() {
    const std::vector<EndedRank> ended = processes_.WaitForEnds(kLongest);
    EXPECT_EQ(ended.size(), 1u);
    return ended.empty() ? EndedRank() : ended.front();
  }

  const ScratchDirectory scratch_;
  const std::string folder_ = scratch_.path();
  RankProcesses processes_{folder_};
};

TEST_F(RankProcessesTest, AreSeenOnceAndSoAreTheirEnds) {
  TestingProcess process(folder_, 3, kLives);
  const std::vector<RankProcess> found = processes_.TakeNew();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rank, 3u);
  EXPECT_EQ(found[0].pid, process.pid());
  EXPECT_TRUE(processes_.TakeNew().empty());
  EXPECT_TRUE(processes_.WaitForEnds(milliseconds(1)).empty()) << "it lives";
  process.Signal(SIGKILL);
  const EndedRank ended = AwaitEnd();
  EXPECT_EQ(ended.process.rank, 3u);
  EXPECT_EQ(ended.end.signal, SIGKILL);
  EXPECT_EQ(ended.end.exit_code, -1);
  EXPECT_GE(ended.time_ns, found[0].seen_ns);
  EXPECT_EQ(ended.end.started_ns, found[0].seen_ns);
  EXPECT_FALSE(ended.place) << "it left no note";
  EXPECT_TRUE(processes_.WaitForEnds(milliseconds(1)).empty());
  EXPECT_TRUE(processes_.TakeNew().empty()) << "its lock is still there";
}

// Where nobody looks for a while, as on a busy machine.
TEST_F(RankProcessesTest, ManyEndsComeInTheirOrder) {
  TestingProcess ranks[] = {{folder_, 0, kLives}, {folder_, 1, kLives}, {folder_, 2, kLives}};
  ASSERT_EQ(processes_.TakeNew().size(), 3u);
  const uint32_t order[] = {2, 0, 1};
  for (const uint32_t rank : order) {
    ranks[rank].Signal(SIGKILL);
    ranks[rank].Wait();
  }
  const std::vector<EndedRank> ended = processes_.WaitForEnds(kLongest);
  ASSERT_EQ(ended.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ended[i].process.rank, order[i]) << i;
    if (i > 0) {
      EXPECT_GE(ended[i].time_ns, ended[i - 1].time_ns);
    }
  }
}

TEST_F(RankProcessesTest, AnExitCodeIsKnown) {
  TestingProcess process(folder_, 0, "time.sleep(0.5)\nos._exit(7)\n");
  ASSERT_EQ(processes_.TakeNew().size(), 1u);
  const EndedRank ended = AwaitEnd();
  EXPECT_EQ(ended.end.exit_code, 7);
  EXPECT_EQ(ended.end.signal, 0);
}

// What the kernel answers for a status that is taken already depends on its version: the right one,
// or that it is not known.
TEST_F(RankProcessesTest, AStatusThatTheLauncherHasTaken) {
  TestingProcess process(folder_, 0, kLives);
  ASSERT_EQ(processes_.TakeNew().size(), 1u);
  process.Signal(SIGSEGV);
  process.Wait();
  const EndedRank ended = AwaitEnd();
  EXPECT_TRUE(ended.end.signal == SIGSEGV || !ended.end.is_known());
}

TEST_F(RankProcessesTest, ItsLastNoteComesWithIt) {
  TestingProcess process(folder_, 0, kLives);
  ASSERT_EQ(processes_.TakeNew().size(), 1u);
  RankStanding place;
  place.job = JobId{"job"};
  place.pid = static_cast<uint32_t>(process.pid());
  place.step = 41;
  PlaceNote note(folder_, 0);
  note.Write(place, 0);
  process.Signal(SIGKILL);
  const EndedRank ended = AwaitEnd();
  ASSERT_TRUE(ended.place);
  EXPECT_EQ(ended.place->step, 41);
}

TEST_F(RankProcessesTest, ANoteOfAnotherProcessDoesNot) {
  TestingProcess process(folder_, 0, kLives);
  ASSERT_EQ(processes_.TakeNew().size(), 1u);
  RankStanding place;
  place.job = JobId{"job"};
  place.pid = static_cast<uint32_t>(process.pid()) + 1;
  PlaceNote note(folder_, 0);
  note.Write(place, 0);
  process.Signal(SIGKILL);
  EXPECT_FALSE(AwaitEnd().place);
}

TEST_F(RankProcessesTest, ANewProcessOfARankIsNew) {
  TestingProcess first(folder_, 0, kLives);
  ASSERT_EQ(processes_.TakeNew().size(), 1u);
  std::filesystem::remove(folder_ + "/rank-0.lock");
  const TestingProcess second(folder_, 0, kLives);
  const std::vector<RankProcess> found = processes_.TakeNew();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].pid, second.pid());
  first.Signal(SIGKILL);
  EXPECT_EQ(AwaitEnd().process.pid, first.pid());
}

TEST_F(RankProcessesTest, NumbersThatMeanSomebodyElseAreLeftAlone) {
  const std::string elsewhere = folder_ + "/elsewhere";
  std::filesystem::create_directory(elsewhere);
  const TestingProcess other(elsewhere, 3, kLives);
  std::ofstream(folder_ + "/rank-3.lock") << other.pid();    // holds another folder's
  std::ofstream(folder_ + "/rank-0.lock") << 1;              // another's
  std::ofstream(folder_ + "/rank-1.lock") << ::getpid();     // not of this job
  std::ofstream(folder_ + "/rank-2.lock") << 2'000'000'000;  // nobody's
  EXPECT_TRUE(processes_.TakeNew().empty());
  EXPECT_TRUE(processes_.WaitForEnds(milliseconds(1)).empty());
}

TEST_F(RankProcessesTest, OneThatIsToldToEndAloneIsKnownFromTheOthers) {
  TestingProcess told(folder_, 0, kLives);
  const TestingProcess other(folder_, 1, kLives);
  ASSERT_EQ(processes_.TakeNew().size(), 2u);
  told.Signal(SIGTERM);
  const EndedRank ended = AwaitEnd();
  EXPECT_EQ(ended.process.rank, 0u);
  EXPECT_TRUE(ended.others_untold);
}

// A process that is stopped keeps the signal, and does not end.
TEST_F(RankProcessesTest, OneThatIsToldToEndWithAnotherIsNotAlone) {
  TestingProcess told(folder_, 0, kLives);
  const TestingProcess other(folder_, 1, kLives);
  const TestingProcess third(folder_, 2, kLives);
  ASSERT_EQ(processes_.TakeNew().size(), 3u);
  other.Signal(SIGSTOP);
  int status = 0;
  ASSERT_EQ(::waitpid(other.pid(), &status, WUNTRACED), other.pid());
  other.Signal(SIGTERM);
  told.Signal(SIGTERM);
  const EndedRank ended = AwaitEnd();
  EXPECT_EQ(ended.process.rank, 0u);
  EXPECT_FALSE(ended.others_untold);
}

TEST_F(RankProcessesTest, WhoIgnoresTheSignalMayHaveGotIt) {
  TestingProcess told(folder_, 0, kLives);
  ::signal(SIGTERM, SIG_IGN);
  const TestingProcess other(folder_, 1, kLives);
  ::signal(SIGTERM, SIG_DFL);
  ASSERT_EQ(processes_.TakeNew().size(), 2u);
  told.Signal(SIGTERM);
  EXPECT_FALSE(AwaitEnd().others_untold);
}

TEST_F(RankProcessesTest, WithoutOthersNobodyWasUntold) {
  const TestingProcess told(folder_, 0, kLives);
  ASSERT_EQ(processes_.TakeNew().size(), 1u);
  told.Signal(SIGTERM);
  EXPECT_FALSE(AwaitEnd().others_untold);
}

TEST_F(RankProcessesTest, WaitingEndsWhenItIsStopped) {
  processes_.StopWaiting();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(processes_.WaitForEnds(kLongest).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - before, kLongest);
}

}  // namespace
}  // namespace eroica
