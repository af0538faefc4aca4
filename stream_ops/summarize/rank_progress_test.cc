#include "stream_ops/summarize/rank_progress.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

RankProgress Example() {
  RankProgress progress;
  progress.identity = {.job = JobId{"job"},
                       .rank = RankId{3},
                       .world_size = 8,
                       .role = "stage 1",
                       .host = "node-7",
                       .pid = 42,
                       .device = -1,
                       .host_only = true,
                       .window_steps = 5,
                       .window_offset = 2};
  progress.kind = WindowKind::kSteps;
  progress.last_index = 17;
  progress.closed_until_ns = 1234;
  progress.max_event_ns = 1300;
  progress.closed_at_offset = 99;
  progress.communicators = {{CommId{7}, 10}, {CommId{~uint64_t{0}}, 20}};
  ProducerProgress& producer = progress.producers[{42, "cupti"}];
  producer.next_sequence = 12;
  producer.declared_lost.AddRange(3, 4);
  producer.declared_lost.Add(9);
  producer.final_sequence = 30;
  progress.producers[{42, "nccl"}] = {};
  progress.advance.Complete({CommId{7}, CollectiveOperation::kSend, 3}, 41, 1100);
  progress.advance.Complete({CommId{7}, CollectiveOperation::kAllReduce, -1}, ~uint64_t{0}, 1000);
  progress.advance.EndStep({16, 1000, 1150});
  progress.advance.Pass({1200, MarkKind::kCheckpointBegin, 0});
  return progress;
}

TEST(RankProgress, ComesBackAsItWas) {
  const RankProgress progress = Example();
  const auto decoded = DecodeRankProgress(Encode(progress));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->identity, progress.identity);
  EXPECT_EQ(decoded->kind, WindowKind::kSteps);
  EXPECT_EQ(decoded->last_index, 17);
  EXPECT_EQ(decoded->closed_until_ns, 1234);
  EXPECT_EQ(decoded->max_event_ns, 1300);
  EXPECT_EQ(decoded->closed_at_offset, 99);
  EXPECT_FALSE(decoded->finished);
  EXPECT_EQ(decoded->advance, progress.advance);
  EXPECT_EQ(decoded->advance.pause, Pause::kCheckpoint);
  EXPECT_EQ(decoded->communicators, progress.communicators);
  const ProducerProgress& producer = decoded->producers.at({42, "cupti"});
  EXPECT_EQ(producer.next_sequence, 12u);
  EXPECT_EQ(producer.declared_lost.ranges(),
            progress.producers.at({42, "cupti"}).declared_lost.ranges());
  EXPECT_EQ(producer.final_sequence, 30u);
  EXPECT_EQ(decoded->producers.at({42, "nccl"}).final_sequence, std::nullopt);
}

TEST(RankProgress, AnyCutIsRefused) {
  const std::string bytes = Encode(Example());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(DecodeRankProgress(std::string_view(bytes).substr(0, size)).ok()) << size;
  EXPECT_FALSE(DecodeRankProgress(bytes + "x").ok());
}

TEST(RankProgress, CommunicatorsToo) {
  const Communicator communicator{CommId{5}, "tp", "tensor parallel", 2, {4, 6}};
  const std::string bytes = Encode(JobId{"job"}, communicator);
  const auto decoded = DecodeCommunicator(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->first, JobId{"job"});
  EXPECT_EQ(decoded->second, communicator);
  EXPECT_FALSE(DecodeCommunicator(std::string_view(bytes).substr(1)).ok());
}

TEST(RankProgress, WhenItLastReportedToo) {
  const std::string bytes = Encode(ReportedUntil{JobId{"job"}, RankId{3}, 1250});
  const auto decoded = DecodeReportedUntil(bytes);
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->job, JobId{"job"});
  EXPECT_EQ(decoded->rank, RankId{3});
  EXPECT_EQ(decoded->time_ns, 1250);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(DecodeReportedUntil(std::string_view(bytes).substr(0, size)).ok()) << size;
}

}  // namespace
}  // namespace eroica
