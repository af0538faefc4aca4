// Round trips: what goes in comes out, whatever the content, and equal content gives equal bytes.
#include "schemas/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "schemas/example_payloads.h"
#include "schemas/test_encoder.h"

namespace eroica {
namespace {

template <typename T>
class CodecRoundTrip : public ::testing::Test {};

// Nothing but what a payload cannot do without.
void Name(EventBatch* batch) { batch->identity.job = JobId("j"); }
void Name(Finding* finding) { finding->job = JobId("j"), finding->id = "1"; }
void Name(auto* value) { value->job = JobId("j"); }

template <typename T>
void ExpectRoundTrip(const T& value) {
  TestEncoder encoder;
  Decoder decoder;
  T decoded = Example<T>();  // what it held before must not shine through
  ASSERT_EQ(decoder.Decode(encoder.Encode(value), &decoded), DropReason::kNone);
  EXPECT_TRUE(decoded == value);
}

using PayloadTypes = ::testing::Types<EventBatch, PatternBatch, CollectiveBatch, CollectiveSummary,
                                      Finding, Control, RankStanding>;
TYPED_TEST_SUITE(CodecRoundTrip, PayloadTypes);

TYPED_TEST(CodecRoundTrip, KeepsEveryField) { ExpectRoundTrip(Example<TypeParam>()); }

TYPED_TEST(CodecRoundTrip, KeepsAnEmptyPayload) {
  TypeParam value;
  Name(&value);
  ExpectRoundTrip(value);
}

TYPED_TEST(CodecRoundTrip, EqualContentGivesEqualBytes) {
  TestEncoder used;
  used.Encode(ExampleEventBatch());
  used.Encode(Example<TypeParam>());
  TestEncoder fresh;
  const Bytes a = used.Encode(Example<TypeParam>());
  const Bytes b = fresh.Encode(Example<TypeParam>());
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

TYPED_TEST(CodecRoundTrip, ADecoderForgetsThePayloadBefore) {
  TypeParam empty;
  Name(&empty);
  TestEncoder encoder;
  Decoder decoder;
  TypeParam decoded;
  ASSERT_EQ(decoder.Decode(encoder.Encode(Example<TypeParam>()), &decoded), DropReason::kNone);
  ASSERT_EQ(decoder.Decode(encoder.Encode(empty), &decoded), DropReason::kNone);
  EXPECT_TRUE(decoded == empty);
  ASSERT_EQ(decoder.Decode(encoder.Encode(Example<TypeParam>()), &decoded), DropReason::kNone);
  EXPECT_TRUE(decoded == Example<TypeParam>());
}

TEST(Codec, KeepsExtremeTimes) {
  constexpr int64_t kEnd = CodecLimits::kMaxTimeNs;
  EventBatch batch;
  Name(&batch);
  batch.functions = {{.name = "f"}};
  batch.lanes = {{.name = "l"}};
  batch.intervals.push_back(0, kEnd, 0, 0);
  batch.intervals.push_back(kEnd, 0, 0, 0);
  batch.samples = {{.time_ns = 0, .resource = Resource::kNic, .value = 0},
                   {.time_ns = kEnd, .resource = Resource::kNic, .value = 1}};
  batch.marks = {{.time_ns = kEnd, .kind = MarkKind::kCaptureResumed, .id = kEnd}};
  ExpectRoundTrip(batch);
  batch.clock = {.realtime_ns = kEnd, .monotonic_ns = kEnd, .device_ns = kEnd};
  batch.time_unit_ns = uint32_t{1} << 31;
  ExpectRoundTrip(batch);
}

TEST(Codec, KeepsTheLargestNumbers) {
  constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();
  EventBatch batch = ExampleEventBatch();
  batch.sequence = kHuge;
  batch.identity.pid = batch.identity.window_steps = std::numeric_limits<uint32_t>::max();
  batch.identity.window_offset = std::numeric_limits<uint32_t>::max() - 1;
  batch.identity.world_size = CodecLimits::kRanks;
  batch.identity.rank = RankId(CodecLimits::kRanks - 1);
  batch.collectives[0].sequence = batch.collectives[0].bytes = batch.losses[0].count = kHuge;
  ExpectRoundTrip(batch);

  CollectiveBatch collectives = ExampleCollectiveBatch();
  collectives.records[0].sequence = kHuge;  // and down again
  collectives.records[1].sequence = 0;
  collectives.records[0].bytes = kHuge;
  collectives.records[0].step = CodecLimits::kMaxTimeNs;
  ExpectRoundTrip(collectives);

  PatternBatch patterns = ExamplePatternBatch();
  patterns.watermark_ns = std::numeric_limits<int64_t>::max();
  patterns.patterns[0].count = patterns.patterns[0].bytes = kHuge;
  patterns.patterns[0].histogram.Add(kHuge, std::numeric_limits<uint32_t>::max());
  ExpectRoundTrip(patterns);

  Control control = ExampleControl();
  control.last_step = control.expires_at_ns = std::numeric_limits<int64_t>::max();
  ExpectRoundTrip(control);
}

TEST(Codec, KeepsEverySampleValueOfTheWire) {
  EventBatch batch;
  Name(&batch);
  for (uint32_t step = 0; step < 65'536; ++step) {
    batch.samples.push_back(
        {.time_ns = step, .resource = Resource::kCpu, .value = static_cast<float>(step) / 65'535});
  }
  ExpectRoundTrip(batch);
}

TEST(Codec, KeepsTheCommunicatorsAndChannelsOfConnections) {
  EventBatch events = ExampleEventBatch();
  events.connections[0].communicator = static_cast<uint32_t>(events.communicators.size());
  events.connections[0].channels = 8;
  ExpectRoundTrip(events);
  PatternBatch patterns = ExamplePatternBatch();
  patterns.connections[0].communicator = patterns.communicators.back();
  patterns.connections[0].channels = 255;
  ExpectRoundTrip(patterns);
}

TEST(Codec, KeepsAFullBatch) {
  EventBatch batch = ExampleEventBatch();
  batch.time_unit_ns = 1;
  for (uint32_t i = 4; i < CodecLimits::kIntervals; ++i) {
    const uint64_t noise = i * 0x9e3779b97f4a7c15;
    batch.intervals.push_back(
        batch.intervals.start_ns.back() + static_cast<int64_t>(noise >> (30 + noise % 30)),
        static_cast<int64_t>(noise >> (20 + noise % 40)), i % 4, i % 2);
  }
  ExpectRoundTrip(batch);
}

TEST(Codec, CutsLongNamesBetweenCharacters) {
  EventBatch batch;
  Name(&batch);
  const std::string almost(CodecLimits::kNameBytes - 1, 'x');
  batch.functions = {{.name = almost + "yz"},
                     {.name = almost + "\xc3\xa9"},
                     {.name = almost + "\xf0\x9f\x94\xa5!"}};
  TestEncoder encoder;
  EventBatch decoded;
  ASSERT_EQ(Decoder().Decode(encoder.Encode(batch), &decoded), DropReason::kNone);
  EXPECT_EQ(decoded.functions[0].name, almost + "y");
  EXPECT_EQ(decoded.functions[1].name, almost);
  EXPECT_EQ(decoded.functions[2].name, almost);

  Finding finding = ExampleFinding();
  finding.explanation.assign(CodecLimits::kTextBytes + 1, 'e');
  Finding cut;
  ASSERT_EQ(Decoder().Decode(encoder.Encode(finding), &cut), DropReason::kNone);
  EXPECT_EQ(cut.explanation.size(), CodecLimits::kTextBytes);
}

TEST(Codec, ReusesTheMemoryOfABatch) {
  TestEncoder encoder;
  Decoder decoder;
  EventBatch decoded;
  ASSERT_EQ(decoder.Decode(encoder.Encode(ExampleEventBatch()), &decoded), DropReason::kNone);
  const void* const before[] = {decoded.intervals.start_ns.data(), decoded.intervals.lane.data(),
                                decoded.functions[0].name.data(), decoded.collectives.data(),
                                decoded.marks.data()};
  ASSERT_EQ(decoder.Decode(encoder.Encode(ExampleEventBatch()), &decoded), DropReason::kNone);
  const void* const after[] = {decoded.intervals.start_ns.data(), decoded.intervals.lane.data(),
                               decoded.functions[0].name.data(), decoded.collectives.data(),
                               decoded.marks.data()};
  EXPECT_TRUE(std::equal(std::begin(before), std::end(before), std::begin(after)));
}

TEST(Codec, KnowsThePayloadByItsIdentifier) {
  TestEncoder encoder;
  EXPECT_EQ(TypeOf(encoder.Encode(ExampleEventBatch())), PayloadType::kEventBatch);
  EXPECT_EQ(TypeOf(encoder.Encode(ExamplePatternBatch())), PayloadType::kPatternBatch);
  EXPECT_EQ(TypeOf(encoder.Encode(ExampleCollectiveBatch())), PayloadType::kCollectiveBatch);
  EXPECT_EQ(TypeOf(encoder.Encode(ExampleCollectiveSummary())), PayloadType::kCollectiveSummary);
  EXPECT_EQ(TypeOf(encoder.Encode(ExampleFinding())), PayloadType::kFinding);
  EXPECT_EQ(TypeOf(encoder.Encode(ExampleControl())), PayloadType::kControl);
  EXPECT_EQ(TypeOf(encoder.Encode(ExampleRankStanding())), PayloadType::kRankStanding);
  EXPECT_EQ(TypeOf({}), PayloadType::kUnknown);
  EXPECT_EQ(SchemaId(PayloadType::kEventBatch), "EVB1");
  EXPECT_EQ(SchemaId(PayloadType::kUnknown), "");
}

}  // namespace
}  // namespace eroica
