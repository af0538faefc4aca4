#include "producers/host/competitor_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producers/host/testing/made_up_files.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kOwn = 100;

struct MadeUpProcess {
  std::string name;
  uint64_t ticks = 0;
  int processor = 0;
  int parent = 1;
  uint64_t started = 1000;
  uint64_t flags = 0;
};

std::string StatText(int process, const MadeUpProcess& p) {
  return std::to_string(process) + " (" + p.name + ") R " + std::to_string(p.parent) +
         " 1 1 0 -1 " + std::to_string(p.flags) + " 0 0 0 0 " + std::to_string(p.ticks) +
         " 0 0 0 20 0 1 0 " + std::to_string(p.started) + " 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 17 " +
         std::to_string(p.processor) + " 0 0 0\n";
}

class CompetitorWatchTest : public ::testing::Test {
 protected:
  CompetitorWatchTest() { Allow("0-1"); }
  void Allow(const std::string& list) {
    files_.Write("self/task/100/status", "Name:\tpython\nCpus_allowed_list:\t" + list + "\n");
  }
  void Put(int process, const MadeUpProcess& p) {
    files_.Write(std::to_string(process) + "/stat", StatText(process, p));
  }
  // A whole round.
  void Round(double wait_share = 0.5, std::vector<int> job = {}) {
    now_ns_ += 3 * kNsPerSecond;
    for (int tick = 0; tick < 40; ++tick) watch_.Tick(now_ns_ + tick, wait_share, job);
  }

  MadeUpFiles files_;
  int64_t now_ns_ = 0;
  CompetitorWatch watch_{{.proc_root = files_.path(), .thread = kOwn, .own_process = kOwn}};
};

TEST_F(CompetitorWatchTest, TheProgramThatDominatesIsNamed) {
  Put(kOwn, {"python", 0});
  Put(200, {"stress-ng-cpu", 0});
  Put(201, {"stress-ng-cpu", 0, 1});
  Put(300, {"sshd", 0});
  Round();
  EXPECT_EQ(watch_.name(), "");  // one round alone says nothing
  Put(kOwn, {"python", 150});
  Put(200, {"stress-ng-cpu", 100});
  Put(201, {"stress-ng-cpu", 90, 1});
  Put(300, {"sshd", 10});
  Round();
  EXPECT_EQ(watch_.name(), "stress-ng-cpu");
  Round();
  EXPECT_EQ(watch_.name(), "");  // it stood still
}

TEST_F(CompetitorWatchTest, NobodyIsNamedWhereNobodyDominates) {
  for (const uint64_t ticks : {0u, 100u}) {
    Put(200, {"java", ticks});
    Put(201, {"postgres", ticks});
    Round();
  }
  EXPECT_EQ(watch_.name(), "");
}

TEST_F(CompetitorWatchTest, WhatRunsOnOtherProcessorsOrBelongsToTheJobIsNobody) {
  Allow("2");
  for (const uint64_t ticks : {0u, 250u}) {
    Put(kOwn, {"python", ticks, 2});
    Put(110, {"python", ticks, 2, kOwn});  // a data loader
    Put(111, {"sh", ticks, 2, 110});       // that it started
    Put(400, {"python", ticks, 2});        // another rank
    Put(200, {"stress-ng", ticks, 3});     // elsewhere
    Put(201, {"crond", ticks / 10, 2});    // too little to explain the waiting
    Round(0.5, {400});
  }
  EXPECT_EQ(watch_.name(), "");
  Put(201, {"crond", 250, 2});
  Round(0.5, {400});
  EXPECT_EQ(watch_.name(), "crond");
}

TEST_F(CompetitorWatchTest, ANumberThatIsReusedIsAnotherProcess) {
  Put(200, {"short-lived", 10});
  Round();
  Put(200, {"newcomer", 10'000, 0, 1, 2'000});
  Round();
  EXPECT_EQ(watch_.name(), "");
}

TEST_F(CompetitorWatchTest, NothingIsReadWhereTheThreadDoesNotWait) {
  for (const uint64_t ticks : {0u, 250u}) {
    Put(200, {"stress-ng", ticks});
    Round(0.05);
  }
  EXPECT_EQ(watch_.name(), "");
}

TEST_F(CompetitorWatchTest, ManyProcessesAndKernelThreadsStayInBounds) {
  for (int process = 1'000; process < 2'500; ++process)
    Put(process, {"kworker/0:1", 0, 0, 2, 1, 0x00200000});
  for (int process = 5'000; process < 5'300; ++process) Put(process, {"idle", 0});
  for (int round = 0; round < 8;
       ++round) {  // kernel threads are learnt, so that the rest has its turn
    Put(4'999, {"stress-ng", static_cast<uint64_t>(300 * round)});
    Round();
  }
  EXPECT_EQ(watch_.name(), "stress-ng");
}

TEST_F(CompetitorWatchTest, MissingFilesNameNobody) {
  files_.Remove("self");
  for (const uint64_t ticks : {0u, 250u}) {
    Put(200, {"stress-ng", ticks});
    Round();
  }
  EXPECT_EQ(watch_.name(), "");
  EXPECT_FALSE(watch_.IsPinned(8));
}

TEST_F(CompetitorWatchTest, KnowsWhetherTheThreadIsPinned) {
  EXPECT_TRUE(watch_.IsPinned(4));
  EXPECT_FALSE(watch_.IsPinned(2));
}

TEST(ParseProcessStat, NamesMayHoldAnything) {
  const auto stat = ParseProcessStat(StatText(7, {"a) R (b\n c", 12, 3, 9, 88}));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "a) R (b\n c");
  EXPECT_EQ(stat->used_ticks, 12u);
  EXPECT_EQ(stat->processor, 3u);
  EXPECT_EQ(stat->parent, 9);
  EXPECT_EQ(stat->started, 88u);
  for (const char* text :
       {"", "7", ")(", "7 (x) R 1\n", "7 (x) R 1 1 1 0 -1 0 0 0 0 0 x 0 0 0 20 0 1 0 5\n"}) {
    EXPECT_FALSE(ParseProcessStat(text)) << text;
  }
  const std::string whole = StatText(7, {"x"});
  for (size_t cut = 0; cut < whole.size(); ++cut)
    EXPECT_FALSE(ParseProcessStat(whole.substr(0, cut))) << cut;
}

TEST(ParseProcessorList, TakesLists) {
  EXPECT_THAT(ParseProcessorList("0-2,8"), ElementsAre(0, 1, 2, 8));
  for (const char* text : {"", "x", "3-1", "0-99999999999", "1,,2", "-", "0-4095,0-4095"}) {
    EXPECT_THAT(ParseProcessorList(text), IsEmpty()) << text;
  }
}

TEST(StableName, HoldsNothingThatChangesFromRunToRun) {
  EXPECT_EQ(StableName("stress-ng-cpu"), "stress-ng-cpu");
  EXPECT_EQ(StableName("python3.11"), "python3.11");
  EXPECT_EQ(StableName("worker-123456"), "worker");
  EXPECT_EQ(StableName("123456"), "");
  EXPECT_EQ(StableName("sshd: me@pts/0"), "sshd");
  EXPECT_EQ(StableName("\"quoted\""), "");
}

}  // namespace
}  // namespace eroica
