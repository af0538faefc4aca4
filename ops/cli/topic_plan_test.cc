#include "ops/cli/topic_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schemas/testing/not_empty.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/recording/scratch_directory.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(TopicPlan, HoldsEveryTopicUnderThePrefix) {
  NodeConfig config;
  config.node.topic_prefix = "site";
  config.topics.events_partitions = 5;
  const std::vector<TopicSpec> plan = PlanTopics(config);
  ASSERT_THAT(plan, SizeIs(kTopicCount));
  EXPECT_EQ(plan.back().name, "site.audit");
  for (int i = 0; i < kTopicCount - 1; ++i)
    EXPECT_EQ(plan[static_cast<size_t>(i)].name, TopicName("site", static_cast<Topic>(i)));
  EXPECT_EQ(plan[0].partitions, 5);
}

TEST(TopicPlan, NodesOverKafkaKeepChangelogs) {
  NodeConfig config;
  config.kafka.bootstrap = "localhost:9092";
  config.topics.collectives_partitions = 5;
  const std::vector<TopicSpec> plan = PlanTopics(config);
  ASSERT_THAT(plan, SizeIs(kTopicCount + 1 + 3));
  const TopicSpec& align = plan[kTopicCount + 2];
  EXPECT_EQ(align.name, "eroica.align-changelog");
  EXPECT_EQ(align.partitions, 5);
  EXPECT_EQ(align.config.at("cleanup.policy"), "compact");
  EXPECT_FALSE(align.config.contains("retention.ms"));
}

TEST(TopicPlan, HoldsTheJsonTopicWhereItIsWanted) {
  NodeConfig config;
  config.findings.json_topic = true;
  config.topics.findings_partitions = 3;
  config.topics.findings_retention_ms = 60'000;
  const std::vector<TopicSpec> plan = PlanTopics(config);
  ASSERT_THAT(plan, SizeIs(kTopicCount + 1));
  const TopicSpec& json = plan[kTopicCount - 1];
  EXPECT_EQ(json.name, "eroica.findings-json");
  EXPECT_EQ(json.partitions, 3) << "as the findings topic: one key, one partition";
  EXPECT_EQ(json.config.at("retention.ms"), "60000");
}

TEST(TopicPlan, OnlyControlIsCompacted) {
  for (const TopicSpec& spec : NotEmpty(PlanTopics(NodeConfig()))) {
    EXPECT_EQ(spec.config.at("cleanup.policy"),
              spec.name == "eroica.control" ? "compact" : "delete")
        << spec.name;
    EXPECT_EQ(spec.config.at("retention.ms") == "-1", spec.name == "eroica.control") << spec.name;
  }
}

TEST(TopicPlan, AsPlannedIsNoDifference) {
  for (const TopicSpec& spec : NotEmpty(PlanTopics(NodeConfig())))
    EXPECT_THAT(DifferencesFromPlan(spec, spec), IsEmpty());
}

TEST(TopicPlan, WhatTheLogDoesNotKnowIsNoDifference) {
  const TopicSpec planned = PlanTopics(NodeConfig()).front();
  TopicSpec found = planned;
  found.config.clear();
  EXPECT_THAT(DifferencesFromPlan(planned, found), IsEmpty());
}

TEST(TopicPlan, SaysWhatDiffersAndWhatToDo) {
  const TopicSpec planned = {.name = "eroica.events",
                             .partitions = 16,
                             .config = {{"retention.ms", "60000"}},
                             .replication_factor = 3};
  const TopicSpec found = {.name = "eroica.events",
                           .partitions = 4,
                           .config = {{"retention.ms", "1"}},
                           .replication_factor = 1};
  EXPECT_THAT(DifferencesFromPlan(planned, found),
              ElementsAre(AllOf(HasSubstr("eroica.events has 4 partitions"), HasSubstr("16"),
                                HasSubstr("set topics.*_partitions to 4")),
                          AllOf(HasSubstr("1 copies"), HasSubstr("3")),
                          AllOf(HasSubstr("retention.ms=1,"),
                                HasSubstr("--add-config retention.ms=60000"))));
}

TEST(TopicPlan, MoreCopiesThanPlannedAreFine) {
  const TopicSpec planned = {.name = "a", .partitions = 1, .config = {}, .replication_factor = 1};
  TopicSpec found = planned;
  found.replication_factor = 3;
  EXPECT_THAT(DifferencesFromPlan(planned, found), IsEmpty());
}

TEST(TopicPlan, ARecordingComesIntoBeingAsPlannedWithRetention) {
  const ScratchDirectory folder;
  const auto log = RecordingLog::Open({.directory = folder.path()});
  ASSERT_TRUE(log.ok()) << log.status();
  NodeConfig config;
  config.topics.events_retention_ms = 60'000;
  ASSERT_TRUE(CreatePlannedTopics((*log)->admin(), config).ok());
  config.topics.events_retention_ms = 70'000;
  EXPECT_TRUE(CreatePlannedTopics((*log)->admin(), config).ok()) << "what is there stays";
  EXPECT_EQ((*log)->admin().DescribeTopic("eroica.events")->config.at("retention.ms"), "60000");
  EXPECT_EQ((*log)->admin().DescribeTopic("eroica.control")->config.at("retention.ms"), "-1");
  EXPECT_TRUE(RequirePlannedTopics((*log)->admin(), config).ok());
}

TEST(TopicPlan, ANodeOfAnOlderPlanStartsWithoutTheTopicsOfRest) {
  MemoryLog log;
  const NodeConfig config;
  ASSERT_TRUE(CreateMissingTopics(log.admin(), config.node.topic_prefix, LayoutOf(config)).ok());
  EXPECT_TRUE(RequirePlannedTopics(log.admin(), config).ok());
}

TEST(TopicPlan, ANodeNeedsEveryTopicWithItsPartitions) {
  MemoryLog log;
  NodeConfig config;
  EXPECT_THAT(std::string(RequirePlannedTopics(log.admin(), config).message()),
              HasSubstr("there is no topic eroica.events"));
  ASSERT_TRUE(CreatePlannedTopics(log.admin(), config).ok());
  EXPECT_TRUE(RequirePlannedTopics(log.admin(), config).ok());
  config.topics.patterns_partitions += 1;
  const absl::Status status = RequirePlannedTopics(log.admin(), config);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("eroica.patterns has 8 partitions, the configuration says 9"));
}

}  // namespace
}  // namespace eroica
