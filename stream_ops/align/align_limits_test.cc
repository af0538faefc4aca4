// Batches that pass verification, of which the summaries or what is carried on would break a limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "schemas/test_encoder.h"
#include "stream_ops/align/align_task.h"
#include "stream_ops/align/align_test_batches.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using enum CollectiveOperation;

// The store names its members, and the job has become smaller since.
TEST(AlignLimits, AMemberBeyondTheWorldIsMissingAfterARestart) {
  InMemoryStore store;
  {
    AlignTask task(&store);
    task.Process(BatchOf(0, 3, {0, 7}), 0);
    task.Punctuate(PunctuationType::kIdle);
    task.Commit();
  }
  AlignTask task(&store);
  CollectiveBatch batch = BatchOf(0, 4, {});
  batch.world_size = 1;
  task.Process(batch, 1);
  task.Punctuate(PunctuationType::kIdle);
  ASSERT_THAT(task.sent, SizeIs(1));
  EXPECT_THAT(task.sent[0].missing, ElementsAre(RankId(7)));
  EXPECT_EQ(task.sent[0].world_size, 8u);
}

// 160 ranks, each of which was the last eight times, after eight functions with the longest stacks:
// 84 MB.
TEST(AlignLimits, BlockersThatAreLargerThanAPayloadTogether) {
  constexpr uint32_t kRanks = 160;
  constexpr uint32_t kEach = kBlockersMax;
  InMemoryStore store;
  AlignTask task(&store);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    CollectiveBatch batch = BatchOf(rank, 3, {});
    batch.world_size = kRanks;
    batch.communicator.size = kRanks;
    for (uint32_t i = 0; i < kEach; ++i)
      batch.predecessors.push_back({FunctionId{i}, "f", std::string(CodecLimits::kTextBytes, 's')});
    for (uint32_t i = 0; i < kRanks * kEach; ++i) {
      const bool last = i / kEach == rank;
      batch.records.push_back(RowOf(kAllReduce, i, last ? 1 : 50));
      if (last) batch.records.back().before = 1 + i % kEach;
    }
    task.Process(batch, rank);
  }
  ASSERT_THAT(task.sent, SizeIs(1));
  EXPECT_THAT(task.outputs_dropped, IsEmpty());
  size_t blockers = 0;
  for (const MemberSummary& member : task.sent[0].members) blockers += member.blockers.size();
  EXPECT_GT(blockers, 0u);
  EXPECT_EQ(task.probe().cuts.blockers, kRanks * kEach - blockers);
}

template <typename T>
T NumberAt(const std::string& payload, size_t at) {
  T number;
  std::memcpy(&number, payload.data() + at, sizeof(number));
  return number;
}

// Of the batch's predecessors, all become the first one, which stays in one place: in a FlatBuffer
// rows are references, each counted from where it stands.
std::string WithOnePredecessorInManyPlaces(const CollectiveBatch& batch) {
  constexpr size_t kPredecessors = 4 + 2 * 10;  // collective.fbs
  TestEncoder encoder;
  const Bytes bytes = encoder.Encode(batch);
  std::string payload(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t table = NumberAt<uint32_t>(payload, 0);
  const size_t fields = table - static_cast<size_t>(NumberAt<int32_t>(payload, table));
  const size_t field = table + NumberAt<uint16_t>(payload, fields + kPredecessors);
  const size_t rows = field + NumberAt<uint32_t>(payload, field) + sizeof(uint32_t);
  const size_t first = rows + NumberAt<uint32_t>(payload, rows);
  for (size_t i = 1; i < batch.predecessors.size(); ++i) {
    const size_t row = rows + i * sizeof(uint32_t);
    const auto reference = static_cast<uint32_t>(first - row);
    std::memcpy(payload.data() + row, &reference, sizeof(reference));
  }
  return payload;
}

// What many places of a payload share, its decoded form has many times.
TEST(AlignLimits, CarriedRowsThatTheStoreCannotHoldAreDropped) {
  InMemoryStore store;
  AlignTask task(&store);
  CollectiveBatch batch = BatchOf(0, 3, kBoth);
  for (uint32_t i = 0; i < CodecLimits::kPatterns; ++i) {
    batch.predecessors.push_back({FunctionId{7}, i == 0 ? std::string(990, 'n') : "", ""});
    batch.records.push_back(RowOf(kAllReduce, 5 + i, 50));
    batch.records.back().before = 1 + i;
  }
  task.Process(WithOnePredecessorInManyPlaces(batch), 0);
  EXPECT_EQ(task.processor().pending_rows(), CodecLimits::kPatterns);
  task.Process(BatchOf(1, 3, kBoth), 1);
  EXPECT_THAT(task.dead_letters, IsEmpty());
  EXPECT_THAT(task.sent, SizeIs(1));
  EXPECT_THAT(task.outputs_dropped, ElementsAre(DropReason::kLimitExceeded));
  EXPECT_EQ(task.probe().rows_dropped, CodecLimits::kPatterns);
  EXPECT_EQ(task.processor().pending_rows(), 0u);
  task.Process(BatchOf(0, 4, kBoth, {RowOf(kAllReduce, 0, 50)}), 2);
  task.Process(BatchOf(1, 4, kBoth, {RowOf(kAllReduce, 0, 50)}), 3);
  EXPECT_THAT(task.sent, SizeIs(2));
}

}  // namespace
}  // namespace eroica
