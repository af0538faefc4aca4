// Payloads as version 1 wrote them, kept in testdata. A reader of today must understand them, and a writer of today writes the same bytes.
// If a change of the wire is meant and compatible, keep the old file under another name, add a test that it still reads, and run
// write_example_payloads for the new one.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "schemas/example_payloads.h"

namespace eroica {
namespace {

template <typename T>
class GoldenPayload : public ::testing::Test {};

using PayloadTypes = ::testing::Types<EventBatch, PatternBatch, CollectiveBatch, CollectiveSummary, Finding, Control>;
TYPED_TEST_SUITE(GoldenPayload, PayloadTypes);

TYPED_TEST(GoldenPayload, IsReadAndWrittenUnchanged) {
  Encoder encoder;
  const Bytes written = encoder.Encode(Example<TypeParam>());
  std::ifstream file("schemas/testdata/payloads/" + std::string(SchemaId(TypeOf(written))) + ".bin", std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(golden.empty());

  TypeParam read;
  ASSERT_EQ(Decoder().Decode(std::as_bytes(std::span(golden)), &read), DropReason::kNone);
  EXPECT_TRUE(read == Example<TypeParam>());
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(written.data()), written.size()), golden);
}

}  // namespace
}  // namespace eroica
