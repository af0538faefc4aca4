// Round trips: what goes in comes out, whatever the content, and equal content gives equal bytes.
#include "schemas/codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "schemas/example_payloads.h"

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
  Encoder encoder;
  Decoder decoder;
  T decoded = Example<T>();  // what it held before must not shine through
  ASSERT_EQ(decoder.Decode(encoder.Encode(value), &decoded), DropReason::kNone);
  EXPECT_TRUE(decoded == value);
}

using PayloadTypes = ::testing::Types<EventBatch, PatternBatch, CollectiveBatch, CollectiveSummary, Finding, Control>;
TYPED_TEST_SUITE(CodecRoundTrip, PayloadTypes);

TYPED_TEST(CodecRoundTrip, KeepsEveryField) { ExpectRoundTrip(Example<TypeParam>()); }

TYPED_TEST(CodecRoundTrip, KeepsAnEmptyPayload) {
  TypeParam value;
  Name(&value);
  ExpectRoundTrip(value);
}

TYPED_TEST(CodecRoundTrip, EqualContentGivesEqualBytes) {
  Encoder used;
  used.Encode(ExampleEventBatch());
  used.Encode(Example<TypeParam>());
  Encoder fresh;
  const Bytes a = used.Encode(Example<TypeParam>());
  const Bytes b = fresh.Encode(Example<TypeParam>());
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

TYPED_TEST(CodecRoundTrip, ADecoderForgetsThePayloadBefore) {
  TypeParam empty;
  Name(&empty);
  Encoder encoder;
  Decoder decoder;
  TypeParam decoded;
  ASSERT_EQ(decoder.Decode(encoder.Encode(Example<TypeParam>()), &decoded), DropReason::kNone);
  ASSERT_EQ(decoder.Decode(encoder.Encode(empty), &decoded), DropReason::kNone);
  EXPECT_TRUE(decoded == empty);
  ASSERT_EQ(decoder.Decode(encoder.Encode(Example<TypeParam>()), &decoded), DropReason::kNone);
  EXPECT_TRUE(decoded == Example<TypeParam>());
}

TEST(Codec, KnowsThePayloadByItsIdentifier) {
  Encoder encoder;
  EXPECT_EQ(TypeOf(encoder.Encode(ExampleEventBatch())), PayloadType::kEventBatch);
  EXPECT_EQ(TypeOf(encoder.Encode(ExamplePatternBatch())), PayloadType::kPatternBatch);
  EXPECT_EQ(TypeOf(encoder.Encode(ExampleCollectiveBatch())), PayloadType::kCollectiveBatch);
  EXPECT_EQ(TypeOf(encoder.Encode(ExampleCollectiveSummary())), PayloadType::kCollectiveSummary);
  EXPECT_EQ(TypeOf(encoder.Encode(ExampleFinding())), PayloadType::kFinding);
  EXPECT_EQ(TypeOf(encoder.Encode(ExampleControl())), PayloadType::kControl);
  EXPECT_EQ(TypeOf({}), PayloadType::kUnknown);
  EXPECT_EQ(SchemaId(PayloadType::kEventBatch), "EVB1");
  EXPECT_EQ(SchemaId(PayloadType::kUnknown), "");
}

}  // namespace
}  // namespace eroica
