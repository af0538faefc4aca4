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
                       .window_offset = 2,
                       .started_ns = 7};
  progress.kind = WindowKind::kSteps;
  progress.last_index = 17;
  progress.runs = 2;
  progress.closed_until_ns = 1234;
  progress.max_event_ns = 1300;
  progress.closed_at_offset = 99;
  progress.communicators = {{CommId{7}, 10}, {CommId{~uint64_t{0}}, 20}};
  ProducerProgress& producer = progress.producers[{42, 7, "cupti"}];
  producer.next_sequence = 12;
  producer.declared_lost.AddRange(3, 4);
  producer.declared_lost.Add(9);
  producer.final_sequence = 30;
  progress.producers[{42, 7, "nccl"}] = {};
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
  EXPECT_EQ(decoded->runs, 2u);
  EXPECT_EQ(decoded->closed_until_ns, 1234);
  EXPECT_EQ(decoded->max_event_ns, 1300);
  EXPECT_EQ(decoded->closed_at_offset, 99);
  EXPECT_FALSE(decoded->finished);
  EXPECT_EQ(decoded->advance, progress.advance);
  EXPECT_EQ(decoded->advance.pause, Pause::kCheckpoint);
  EXPECT_EQ(decoded->communicators, progress.communicators);
  const ProducerProgress& producer = decoded->producers.at({42, 7, "cupti"});
  EXPECT_EQ(producer.next_sequence, 12u);
  EXPECT_EQ(producer.declared_lost.ranges(),
            progress.producers.at({42, 7, "cupti"}).declared_lost.ranges());
  EXPECT_EQ(producer.final_sequence, 30u);
  EXPECT_EQ(decoded->producers.at({42, 7, "nccl"}).final_sequence, std::nullopt);
}

// Rows as version 3 wrote them: without runs, and without the start of a process.
class RowOfVersion3 {
 public:
  RowOfVersion3& Number(uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  RowOfVersion3& Text(const std::string& text) {
    Number(text.size());
    bytes_ += text;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

TEST(RankProgress, ARowOfTheVersionBeforeIsRead) {
  RowOfVersion3 row;
  row.Number(3).Text("job").Number(3).Number(8).Text("stage 1").Text("node-7").Number(42);
  row.Number(~uint64_t{0}).Number(1).Number(5).Number(2);  // device .. window_offset
  row.Number(1).Number(17).Number(1234).Number(1300).Number(99).Number(0);  // kind .. finished
  row.Number(0);                                                            // communicators
  row.Number(1).Number(42).Text("cupti").Number(12).Number(0).Number(0).Number(0);  // producers
  row.Number(1100).Number(16).Number(1).Number(150).Number(0).Number(0).Number(0);  // advance
  const auto decoded = DecodeRankProgress(row.bytes());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->identity.pid, 42u);
  EXPECT_EQ(decoded->identity.started_ns, 0);
  EXPECT_EQ(decoded->last_index, 17);
  EXPECT_EQ(decoded->runs, 0u);
  EXPECT_EQ(decoded->producers.at({42, 0, "cupti"}).next_sequence, 12u);
  EXPECT_EQ(decoded->advance.last_step, 16);
}

TEST(RankProgress, AnyCutIsRefused) {
  const std::string bytes = Encode(Example());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(DecodeRankProgress(std::string_view(bytes).substr(0, size)).ok()) << size;
  EXPECT_FALSE(DecodeRankProgress(bytes + "x").ok());
}

TEST(RankProgress, CommunicatorsToo) {
  const Communicator communicator{CommId{5}, "tp",   "tensor parallel",
                                  2,         {4, 6}, CollectiveLibrary::kGloo};
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
