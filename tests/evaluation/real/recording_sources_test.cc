#include "tests/evaluation/real/recording_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "stream_ops/recording/scratch_directory.h"
#include "tests/evaluation/real/variation.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kLive[] = "tests/golden/live";

RealJob LoadRecording(const std::string& name) {
  const auto sources = RecordingSources(kLive);
  EXPECT_TRUE(sources.ok()) << sources.status();
  const auto source = std::ranges::find(*sources, name, &RealJobSource::name);
  EXPECT_NE(source, sources->end());
  absl::StatusOr<RealJob> job = source->load();
  EXPECT_TRUE(job.ok()) << job.status();
  return *std::move(job);
}

TEST(RecordingSources, OneAMemberInItsOrder) {
  const auto sources = RecordingSources(kLive);
  ASSERT_TRUE(sources.ok()) << sources.status();
  ASSERT_FALSE(sources->empty());
  EXPECT_EQ(sources->front().name, "healthy");
}

TEST(RecordingSources, HealthyJobsExpectNothing) {
  EXPECT_THAT(LoadRecording("healthy").expected, IsEmpty());
}

TEST(RecordingSources, ATruthIsARankAndPartsOfNames) {
  const RealJob gc = LoadRecording("gc");
  ASSERT_EQ(gc.expected.size(), 1u);
  EXPECT_THAT(gc.expected[0].ranks, ElementsAre(2u));
  EXPECT_THAT(gc.expected[0].functions,
              ElementsAre("gc collection", "link_samples", "record_sample_history"));
  EXPECT_EQ(gc.from_step, 48);
  EXPECT_THAT(LoadRecording("data").expected[0].functions, ElementsAre("data.py"));
}

TEST(RecordingSources, ALinkHasTwoEnds) {
  const RealJob link = LoadRecording("link");
  EXPECT_EQ(link.expected[0].peer_rank, 5);
  EXPECT_THAT(link.expected[0].kinds, ElementsAre(FindingKind::kCommunication));
}

TEST(RecordingSources, TheWholeJobIsReadWithAndWithoutStacks) {
  const RealJob job = LoadRecording("compute");
  EXPECT_THAT(RanksOf(job.batches), ElementsAre(0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u));
  EXPECT_GT(StepCountOf(job.batches), 100u);
  EXPECT_THAT(job.window_steps, ElementsAre(8u, 16u, 32u, kWholeJob));
  ASSERT_EQ(job.without_stacks.size(), job.batches.size());
  size_t with = 0;
  size_t without = 0;
  for (size_t i = 0; i < job.batches.size(); ++i) {
    with += job.batches[i].intervals.size();
    without += job.without_stacks[i].intervals.size();
    EXPECT_EQ(job.batches[i].collectives.size(), job.without_stacks[i].collectives.size());
  }
  EXPECT_LT(without, with);
  EXPECT_GT(without, 0u);
}

TEST(RecordingSources, BatchesOfARankComeInOrder) {
  const RealJob job = LoadRecording("healthy");
  std::map<uint32_t, uint64_t> next;
  for (const EventBatch& batch : job.batches)
    EXPECT_EQ(batch.sequence, next[batch.identity.rank.value]++);
}

TEST(RecordingSources, WhatIsNotThereOrSaysNothingIsRefused) {
  const ScratchDirectory folder;
  EXPECT_TRUE(absl::IsNotFound(RecordingSources(folder.path()).status()));
  const auto write = [&folder](const std::string& text) {
    std::ofstream(folder.path() + "/truth.json") << text;
  };
  write("[]");
  EXPECT_TRUE(absl::IsInvalidArgument(RecordingSources(folder.path()).status()));
  write(R"({"odd": {"function": "gemm"}})");
  const absl::Status status = RecordingSources(folder.path()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("odd is neither null nor names a rank"));
  write(R"({"absent": null})");
  const auto sources = RecordingSources(folder.path());
  ASSERT_TRUE(sources.ok());
  EXPECT_THAT(*sources, Not(IsEmpty()));
  EXPECT_FALSE(sources->front().load().ok());
}

}  // namespace
}  // namespace eroica
