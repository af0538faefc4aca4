#include "stream_ops/topics.h"

#include <gtest/gtest.h>

#include <set>

namespace eroica {
namespace {

TEST(Topics, NamesCarryThePrefix) {
  EXPECT_EQ(TopicName(kDefaultTopicPrefix, Topic::kEvents), "eroica.events");
  EXPECT_EQ(TopicName("lab", Topic::kDeadLetter), "lab.deadletter");
}

TEST(Topics, EveryTopicHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int topic = 0; topic < kTopicCount; ++topic)
    names.insert(TopicName("p", static_cast<Topic>(topic)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kTopicCount));
}

TEST(Topics, RanksOfOneShardShareTheEventsKey) {
  const JobId job{"llama"};
  EXPECT_EQ(EventsKey(job, RankId{0}), "llama/0");
  EXPECT_EQ(EventsKey(job, RankId{kRanksPerShard - 1}), "llama/0");
  EXPECT_EQ(EventsKey(job, RankId{kRanksPerShard}), "llama/1");
}

TEST(Topics, CommunicatorsOfOneJobHaveDifferentKeys) {
  const JobId job{"llama"};
  EXPECT_EQ(CollectivesKey(job, CommId{0xabc}), "llama/0000000000000abc");
  EXPECT_NE(CollectivesKey(job, CommId{1}), CollectivesKey(job, CommId{2}));
  EXPECT_EQ(JobKey(job), "llama");
}

TEST(Topics, NoControlCharacterOfAJobsNameReachesAKey) {
  const JobId job{"night\n\x1b[2J 100%"};
  EXPECT_EQ(JobKey(job), "night%0A%1B[2J 100%25");
  EXPECT_EQ(EventsKey(job, RankId{0}), "night%0A%1B[2J 100%25/0");
  EXPECT_EQ(CollectivesKey(job, CommId{1}), "night%0A%1B[2J 100%25/0000000000000001");
}

}  // namespace
}  // namespace eroica
