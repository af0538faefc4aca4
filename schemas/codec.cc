#include "schemas/codec.h"

#include "schemas/aligned_copy.h"
#include "schemas/invariants.h"
#include "schemas/wire_codec.h"

namespace eroica {
namespace {

constexpr size_t kIdentifierOffset = sizeof(flatbuffers::uoffset_t);
constexpr size_t kIdentifierBytes = 4;
constexpr size_t kHeaderBytes = kIdentifierOffset + kIdentifierBytes;

constexpr PayloadType kPayloadTypes[] = {
    PayloadType::kEventBatch,        PayloadType::kPatternBatch, PayloadType::kCollectiveBatch,
    PayloadType::kCollectiveSummary, PayloadType::kFinding,      PayloadType::kControl,
    PayloadType::kRankStanding};

constexpr PayloadType PayloadTypeOf(const EventBatch*) { return PayloadType::kEventBatch; }
constexpr PayloadType PayloadTypeOf(const PatternBatch*) { return PayloadType::kPatternBatch; }
constexpr PayloadType PayloadTypeOf(const CollectiveBatch*) {
  return PayloadType::kCollectiveBatch;
}
constexpr PayloadType PayloadTypeOf(const CollectiveSummary*) {
  return PayloadType::kCollectiveSummary;
}
constexpr PayloadType PayloadTypeOf(const Finding*) { return PayloadType::kFinding; }
constexpr PayloadType PayloadTypeOf(const Control*) { return PayloadType::kControl; }
constexpr PayloadType PayloadTypeOf(const RankStanding*) { return PayloadType::kRankStanding; }

}  // namespace

PayloadType TypeOf(Bytes payload) {
  if (payload.size() < kHeaderBytes) return PayloadType::kUnknown;
  const std::string_view identifier(
      reinterpret_cast<const char*>(payload.data()) + kIdentifierOffset, kIdentifierBytes);
  for (const PayloadType type : kPayloadTypes) {
    if (identifier == SchemaId(type)) return type;
  }
  return PayloadType::kUnknown;
}

std::string_view SchemaId(PayloadType type) {
  switch (type) {
    case PayloadType::kUnknown: return "";
    case PayloadType::kEventBatch: return wire::EventBatchIdentifier();
    case PayloadType::kPatternBatch: return wire::PatternBatchIdentifier();
    case PayloadType::kCollectiveBatch: return wire::CollectiveBatchIdentifier();
    case PayloadType::kCollectiveSummary: return wire::CollectiveSummaryIdentifier();
    case PayloadType::kFinding: return wire::FindingIdentifier();
    case PayloadType::kControl: return wire::ControlIdentifier();
    case PayloadType::kRankStanding: return wire::RankStandingIdentifier();
  }
  return "";
}

struct Encoder::Impl {
  template <typename T>
  DropReason TryEncode(const T& value, Bytes* out) {
    const DropReason violation = CheckInvariants(value);
    if (violation != DropReason::kNone) return violation;
    writer.Clear();
    Write(value, writer);
    if (writer.failure() != DropReason::kNone) return writer.failure();
    *out = Bytes(reinterpret_cast<const std::byte*>(writer.builder().GetBufferPointer()),
                 writer.builder().GetSize());
    return DropReason::kNone;
  }

  WireWriter writer;
};

struct Decoder::Impl {
  template <typename Wire, typename T>
  DropReason Decode(Bytes payload, T* out) {
    if (payload.size() < kHeaderBytes) return DropReason::kTooShort;
    if (payload.size() > CodecLimits::kPayloadBytes) return DropReason::kLimitExceeded;
    if (TypeOf(payload) != PayloadTypeOf(out)) return DropReason::kWrongIdentifier;
    const std::span<const uint8_t> bytes = copy.Assign(payload);
    flatbuffers::Verifier verifier(bytes.data(), bytes.size(), kVerifiedDepth, kVerifiedTables);
    if (!verifier.VerifyBuffer<Wire>(nullptr)) return DropReason::kVerifierFailed;
    WireReader reader;
    Read(*flatbuffers::GetRoot<Wire>(bytes.data()), reader, out);
    return reader.ok() ? CheckInvariants(*out) : reader.reason();
  }

  AlignedCopy copy;
};

Encoder::Encoder() : impl_(std::make_unique<Impl>()) {}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;

DropReason Encoder::TryEncode(const EventBatch& batch, Bytes* out) {
  return impl_->TryEncode(batch, out);
}
DropReason Encoder::TryEncode(const Control& control, Bytes* out) {
  return impl_->TryEncode(control, out);
}
DropReason Encoder::TryEncode(const PatternBatch& batch, Bytes* out) {
  return impl_->TryEncode(batch, out);
}
DropReason Encoder::TryEncode(const CollectiveBatch& batch, Bytes* out) {
  return impl_->TryEncode(batch, out);
}
DropReason Encoder::TryEncode(const CollectiveSummary& summary, Bytes* out) {
  return impl_->TryEncode(summary, out);
}
DropReason Encoder::TryEncode(const Finding& finding, Bytes* out) {
  return impl_->TryEncode(finding, out);
}
DropReason Encoder::TryEncode(const RankStanding& standing, Bytes* out) {
  return impl_->TryEncode(standing, out);
}

Decoder::Decoder() : impl_(std::make_unique<Impl>()) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

DropReason Decoder::Decode(Bytes payload, EventBatch* out) {
  return impl_->Decode<wire::EventBatch>(payload, out);
}
DropReason Decoder::Decode(Bytes payload, PatternBatch* out) {
  return impl_->Decode<wire::PatternBatch>(payload, out);
}
DropReason Decoder::Decode(Bytes payload, CollectiveBatch* out) {
  return impl_->Decode<wire::CollectiveBatch>(payload, out);
}
DropReason Decoder::Decode(Bytes payload, CollectiveSummary* out) {
  return impl_->Decode<wire::CollectiveSummary>(payload, out);
}
DropReason Decoder::Decode(Bytes payload, Finding* out) {
  return impl_->Decode<wire::Finding>(payload, out);
}
DropReason Decoder::Decode(Bytes payload, Control* out) {
  return impl_->Decode<wire::Control>(payload, out);
}
DropReason Decoder::Decode(Bytes payload, RankStanding* out) {
  return impl_->Decode<wire::RankStanding>(payload, out);
}

}  // namespace eroica
