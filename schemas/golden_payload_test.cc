// Payloads as version 1 wrote them, kept in testdata. A reader of today must understand them, and a
// writer of today writes the same bytes. If a change of the wire is meant and compatible, keep the
// old file under another name, add a test that it still reads, and run write_example_payloads for
// the new one.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "schemas/example_payloads.h"

namespace eroica {
namespace {

std::string ReadPayload(const std::string& name) {
  std::ifstream file("schemas/testdata/payloads/" + name + ".bin", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T>
class GoldenPayload : public ::testing::Test {};

using PayloadTypes = ::testing::Types<EventBatch, PatternBatch, CollectiveBatch, CollectiveSummary,
                                      Finding, Control, RankStanding>;
TYPED_TEST_SUITE(GoldenPayload, PayloadTypes);

TYPED_TEST(GoldenPayload, IsReadAndWrittenUnchanged) {
  Encoder encoder;
  const Bytes written = encoder.Encode(Example<TypeParam>());
  const std::string golden = ReadPayload(std::string(SchemaId(TypeOf(written))));
  ASSERT_FALSE(golden.empty());

  TypeParam read;
  ASSERT_EQ(Decoder().Decode(std::as_bytes(std::span(golden)), &read), DropReason::kNone);
  EXPECT_TRUE(read == Example<TypeParam>());
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(written.data()), written.size()),
            golden);
}

// Before progress reports, the stages of steps and connections were added.
TEST(GoldenPayloadOfBefore, EventsWithoutProgress) {
  const std::string golden = ReadPayload("EVB1_without_progress");
  EventBatch expected = ExampleEventBatch();
  expected.progress.clear();
  expected.connections.clear();
  expected.identity.window_offset = 0;
  EventBatch read;
  ASSERT_EQ(Decoder().Decode(std::as_bytes(std::span(golden)), &read), DropReason::kNone);
  EXPECT_TRUE(read == expected);
}

// What has no offset is written as it was.
TEST(GoldenPayloadOfBefore, EventsWithoutWindowOffset) {
  const std::string golden = ReadPayload("EVB1_without_window_offset");
  EventBatch expected = ExampleEventBatch();
  expected.identity.window_offset = 0;
  EventBatch read;
  ASSERT_EQ(Decoder().Decode(std::as_bytes(std::span(golden)), &read), DropReason::kNone);
  EXPECT_TRUE(read == expected);
  Encoder encoder;
  const Bytes written = encoder.Encode(expected);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(written.data()), written.size()),
            golden);
}

TEST(GoldenPayloadOfBefore, StandingsWithoutConnections) {
  const std::string golden = ReadPayload("RST1_without_connections");
  RankStanding expected = ExampleRankStanding();
  expected.connections.clear();
  RankStanding read;
  ASSERT_EQ(Decoder().Decode(std::as_bytes(std::span(golden)), &read), DropReason::kNone);
  EXPECT_TRUE(read == expected);
}

TEST(GoldenPayloadOfBefore, PatternsWithoutStages) {
  const std::string golden = ReadPayload("PTB1_without_stages");
  PatternBatch expected = ExamplePatternBatch();
  for (StepRecord& step : expected.steps) step.stage_ns = {};
  expected.connections.clear();
  expected.levels.clear();
  PatternBatch read;
  ASSERT_EQ(Decoder().Decode(std::as_bytes(std::span(golden)), &read), DropReason::kNone);
  EXPECT_TRUE(read == expected);
}

// Before how far resources were used was told. What has nothing of it is written as it was.
TEST(GoldenPayloadOfBefore, PatternsWithoutLevels) {
  const std::string golden = ReadPayload("PTB1_without_levels");
  PatternBatch expected = ExamplePatternBatch();
  expected.levels.clear();
  PatternBatch read;
  ASSERT_EQ(Decoder().Decode(std::as_bytes(std::span(golden)), &read), DropReason::kNone);
  EXPECT_TRUE(read == expected);
  Encoder encoder;
  const Bytes written = encoder.Encode(expected);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(written.data()), written.size()),
            golden);
}

}  // namespace
}  // namespace eroica
