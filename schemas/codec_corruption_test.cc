// Payloads damaged on the way: cut off, with flipped bits, of another type, at an odd address. Each
// gives a reason or a valid batch, and under the sanitizers no error.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "schemas/codec.h"
#include "schemas/example_payloads.h"
#include "schemas/invariants.h"
#include "schemas/test_encoder.h"

namespace eroica {
namespace {

using Payload = std::vector<std::byte>;

template <typename T>
class Corruption : public ::testing::Test {
 protected:
  Corruption() {
    TestEncoder encoder;
    const Bytes bytes = encoder.Encode(Example<T>());
    payload_.assign(bytes.begin(), bytes.end());
  }

  // Whatever the decoder lets through keeps the invariants and survives another round.
  void ExpectReasonOrValidBatch(Bytes payload) {
    T decoded;
    if (decoder_.Decode(payload, &decoded) != DropReason::kNone) return;
    ASSERT_EQ(CheckInvariants(decoded), DropReason::kNone);
    T again;
    ASSERT_EQ(other_decoder_.Decode(encoder_.Encode(decoded), &again), DropReason::kNone);
    ASSERT_TRUE(again == decoded);
  }

  Payload payload_;
  TestEncoder encoder_;
  Decoder decoder_, other_decoder_;
};

using PayloadTypes = ::testing::Types<EventBatch, PatternBatch, CollectiveBatch, CollectiveSummary,
                                      Finding, Control, RankStanding>;
TYPED_TEST_SUITE(Corruption, PayloadTypes);

TYPED_TEST(Corruption, TruncatedAnywhere) {
  for (size_t size = 0; size < this->payload_.size(); ++size) {
    const Payload cut(this->payload_.begin(),
                      this->payload_.begin() + static_cast<std::ptrdiff_t>(size));
    TypeParam decoded;
    if (size < 8) {
      EXPECT_EQ(this->decoder_.Decode(cut, &decoded), DropReason::kTooShort);
    }
    this->ExpectReasonOrValidBatch(cut);
  }
}

TYPED_TEST(Corruption, EverySingleBitFlipped) {
  for (size_t bit = 0; bit < this->payload_.size() * 8; ++bit) {
    Payload flipped = this->payload_;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    this->ExpectReasonOrValidBatch(flipped);
  }
}

TYPED_TEST(Corruption, EveryByteAllOnes) {
  for (std::byte& byte : this->payload_) {
    const std::byte before = byte;
    byte = std::byte{0xff};
    this->ExpectReasonOrValidBatch(this->payload_);
    byte = before;
  }
}

TYPED_TEST(Corruption, AtEveryAddress) {
  for (size_t shift = 0; shift < 16; ++shift) {
    std::vector<std::byte> shifted(this->payload_.size() + shift);
    std::memcpy(shifted.data() + shift, this->payload_.data(), this->payload_.size());
    TypeParam decoded;
    EXPECT_EQ(this->decoder_.Decode(Bytes(shifted).subspan(shift), &decoded), DropReason::kNone);
    EXPECT_TRUE(decoded == Example<TypeParam>());
  }
}

TYPED_TEST(Corruption, OfAnotherType) {
  TypeParam decoded;
  for (const char* identifier :
       {"EVB1", "PTB1", "CLB1", "CLS1", "FND1", "CTL1", "RST1", "EVB2", "\0\0\0\0"}) {
    Payload renamed = this->payload_;
    std::memcpy(renamed.data() + 4, identifier, 4);
    if (renamed == this->payload_) continue;
    EXPECT_EQ(this->decoder_.Decode(renamed, &decoded), DropReason::kWrongIdentifier);
  }
}

}  // namespace
}  // namespace eroica
