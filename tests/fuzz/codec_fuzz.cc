// Any bytes are refused with a reason or decode to a batch that keeps its invariants and, encoded
// and decoded again, is the same batch.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "schemas/check.h"
#include "schemas/codec.h"
#include "schemas/invariants.h"
#include "schemas/test_encoder.h"

namespace eroica {
namespace {

// The bytes are read as each type in turn, under that type's identifier, so that no run is wasted
// on a wrong one.
template <typename T>
void TryAs(PayloadType type, const uint8_t* data, size_t size) {
  constexpr size_t kIdentifierEnd = 8;
  std::vector<std::byte> payload(size);
  if (size > 0) std::memcpy(payload.data(), data, size);
  if (size >= kIdentifierEnd) std::memcpy(payload.data() + 4, SchemaId(type).data(), 4);

  T decoded;
  Decoder decoder;
  if (decoder.Decode(payload, &decoded) != DropReason::kNone) return;
  EROICA_CHECK(CheckInvariants(decoded) == DropReason::kNone);
  T again;
  TestEncoder encoder;
  EROICA_CHECK(decoder.Decode(encoder.Encode(decoded), &again) == DropReason::kNone);
  EROICA_CHECK(again == decoded);
}

}  // namespace
}  // namespace eroica

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace eroica;
  TryAs<EventBatch>(PayloadType::kEventBatch, data, size);
  TryAs<PatternBatch>(PayloadType::kPatternBatch, data, size);
  TryAs<CollectiveBatch>(PayloadType::kCollectiveBatch, data, size);
  TryAs<CollectiveSummary>(PayloadType::kCollectiveSummary, data, size);
  TryAs<Finding>(PayloadType::kFinding, data, size);
  TryAs<Control>(PayloadType::kControl, data, size);
  TryAs<RankStanding>(PayloadType::kRankStanding, data, size);
  return 0;
}
