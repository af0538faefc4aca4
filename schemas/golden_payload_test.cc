// Payloads as version 1 wrote them, kept in testdata. A reader of today must understand them, and a
// writer of today writes the same bytes. If a change of the wire is meant and compatible, keep the
// old file under another name, add a test that it still reads, and run write_example_payloads for
// the new one.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "schemas/example_payloads.h"
#include "schemas/test_encoder.h"

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
  TestEncoder encoder;
  const Bytes written = encoder.Encode(Example<TypeParam>());
  const std::string golden = ReadPayload(std::string(SchemaId(TypeOf(written))));
  ASSERT_FALSE(golden.empty());

  TypeParam read;
  ASSERT_EQ(Decoder().Decode(std::as_bytes(std::span(golden)), &read), DropReason::kNone);
  EXPECT_TRUE(read == Example<TypeParam>());
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(written.data()), written.size()),
            golden);
}

// Payloads of before something was added: they are read as what they say.
template <typename T>
void ExpectRead(const std::string& payload, const T& expected) {
  T read;
  ASSERT_EQ(Decoder().Decode(std::as_bytes(std::span(payload)), &read), DropReason::kNone);
  EXPECT_TRUE(read == expected);
}

// And what has nothing of the addition is written as it was.
template <typename T>
void ExpectUnchanged(const std::string& payload, const T& expected) {
  ExpectRead(payload, expected);
  TestEncoder encoder;
  const Bytes written = encoder.Encode(expected);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(written.data()), written.size()),
            payload);
}

// Before progress reports, the stages of steps and connections were added.
TEST(GoldenPayloadOfBefore, EventsWithoutProgress) {
  EventBatch expected = ExampleEventBatch();
  expected.progress.clear();
  expected.connections.clear();
  expected.identity.window_offset = 0;
  expected.identity.started_ns = 0;
  ExpectRead(ReadPayload("EVB1_without_progress"), expected);
}

TEST(GoldenPayloadOfBefore, EventsWithoutWindowOffset) {
  EventBatch expected = ExampleEventBatch();
  expected.identity.window_offset = 0;
  expected.identity.started_ns = 0;
  ExpectUnchanged(ReadPayload("EVB1_without_window_offset"), expected);
}

TEST(GoldenPayloadOfBefore, EventsWithoutStartOfTheProcess) {
  EventBatch expected = ExampleEventBatch();
  expected.identity.started_ns = 0;
  ExpectUnchanged(ReadPayload("EVB1_without_start"), expected);
}

TEST(GoldenPayloadOfBefore, StandingsWithoutConnections) {
  RankStanding expected = ExampleRankStanding();
  expected.connections.clear();
  ExpectRead(ReadPayload("RST1_without_connections"), expected);
}

TEST(GoldenPayloadOfBefore, PatternsWithoutStages) {
  PatternBatch expected = ExamplePatternBatch();
  for (StepRecord& step : expected.steps) step.stage_ns = {};
  expected.connections.clear();
  expected.levels.clear();
  expected.suspended.clear();
  ExpectRead(ReadPayload("PTB1_without_stages"), expected);
}

// Before findings named the time of day.
TEST(GoldenPayloadOfBefore, FindingsWithoutTimes) {
  Finding expected = ExampleFinding();
  expected.first_seen_ns = expected.last_seen_ns = 0;
  ExpectUnchanged(ReadPayload("FND1_without_times"), expected);
}

// Before how far resources were used was told.
TEST(GoldenPayloadOfBefore, PatternsWithoutLevels) {
  PatternBatch expected = ExamplePatternBatch();
  expected.levels.clear();
  expected.suspended.clear();
  ExpectUnchanged(ReadPayload("PTB1_without_levels"), expected);
}

// Before captures that stood still were told.
TEST(GoldenPayloadOfBefore, PatternsWithoutSuspendedCaptures) {
  PatternBatch expected = ExamplePatternBatch();
  expected.suspended.clear();
  ExpectUnchanged(ReadPayload("PTB1_without_suspended"), expected);
}

// What was added since the examples were written comes back as it was sent.
template <typename T>
void ExpectSameBehindTheWire(const T& sent) {
  TestEncoder encoder;
  T read;
  ASSERT_EQ(Decoder().Decode(encoder.Encode(sent), &read), DropReason::kNone);
  EXPECT_TRUE(read == sent);
}

TEST(PayloadOfToday, WhatDumpsDoNotShowAndSidesThatCannotMeet) {
  EventBatch batch = ExampleEventBatch();
  ProgressReport& report = batch.progress.back();
  report.starts_unknown = true;
  report.moment_unknown = true;
  report.in_flight.back().side = 3;
  ExpectSameBehindTheWire(batch);
  RankStanding standing = ExampleRankStanding();
  standing.starts_unknown = true;
  standing.moment_unknown = true;
  standing.in_flight.back().side = 3;
  ExpectSameBehindTheWire(standing);
}

TEST(PayloadOfToday, LibrariesOfCommunicators) {
  EventBatch batch = ExampleEventBatch();
  batch.communicators.front().library = CollectiveLibrary::kGloo;
  ExpectSameBehindTheWire(batch);
  RankStanding standing = ExampleRankStanding();
  standing.communicators.front().library = CollectiveLibrary::kMpi;
  ExpectSameBehindTheWire(standing);
}

TEST(PayloadOfToday, TransfersBetweenPairs) {
  CollectiveSummary summary = ExampleCollectiveSummary();
  summary.pairs.front().transfer_ns = 5;
  ExpectSameBehindTheWire(summary);
}

TEST(PayloadOfToday, EndsOfProcesses) {
  RankStanding standing = ExampleRankStanding();
  const ProcessEnd ends[] = {
      {},
      {.exit_code = 0},
      {.exit_code = 1},
      {.signal = 9, .started_ns = 1, .out_of_memory = true},
      {.exit_code = 0, .job_failure = JobFailure{.signal = 6}},
      {.signal = 15,
       .job_failure = JobFailure{
           .exit_code = 3, .ranks = 4, .within_ns = 200'000'000, .others_untold = true}}};
  for (const ProcessEnd& end : ends) {
    standing.end = end;
    ExpectSameBehindTheWire(standing);
  }
}

}  // namespace
}  // namespace eroica
