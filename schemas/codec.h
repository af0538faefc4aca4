// Between the structs of this folder and their FlatBuffers. Owner: one Encoder or Decoder a thread;
// both recycle their memory.
//
// Decoding never trusts a payload: it is copied to an aligned buffer, checked by FlatBuffers'
// verifier, read with every column length, varint and count checked, and held against the
// invariants of its type (invariants.h). What fails is answered with a DropReason, never with a
// crash and never with half a batch. Encoding holds a value against the same invariants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/collective_batch.h"
#include "schemas/collective_summary.h"
#include "schemas/control.h"
#include "schemas/drop_reason.h"
#include "schemas/event_batch.h"
#include "schemas/finding.h"
#include "schemas/pattern_batch.h"
#include "schemas/rank_standing.h"

namespace eroica {

using Bytes = std::span<const std::byte>;

enum class PayloadType : uint8_t {
  kUnknown,
  kEventBatch,
  kPatternBatch,
  kCollectiveBatch,
  kCollectiveSummary,
  kFinding,
  kControl,
  kRankStanding
};

// By the four-character file identifier; nothing else of the payload is looked at.
PayloadType TypeOf(Bytes payload);
// "EVB1" and so on, as the message header `schema` carries it.
std::string_view SchemaId(PayloadType type);

// What a payload may hold at most. Beyond: kLimitExceeded.
struct CodecLimits {
  static constexpr size_t kPayloadBytes = size_t{64} << 20;
  static constexpr uint32_t kIntervals = 65'536;  // and as many collectives, samples and marks
  static constexpr uint32_t kFunctions = 65'536;
  static constexpr uint32_t kLanes = 256;
  static constexpr uint32_t kCommunicators = 4'096;
  static constexpr uint32_t kLosses = 1'024;
  // samples of a batch, or connections of a window
  static constexpr uint32_t kConnections = 65'536;
  // of progress, each with as many rows as there may be intervals
  static constexpr uint32_t kReports = 1'024;
  static constexpr uint32_t kRanks = 1u << 20;
  static constexpr uint32_t kNameBytes = 4'096;
  static constexpr uint32_t kTextBytes = 65'536;  // call stacks and the sentences of a finding
  // and as many predecessors, steps of a window, blockers, victims
  static constexpr uint32_t kPatterns = 65'536;
  static constexpr uint32_t kRecords = 1u << 20;  // of a CollectiveBatch
  static constexpr uint32_t kStackDepth = 512;
  static constexpr int64_t kMaxTimeNs = int64_t{1} << 62;
};

class Encoder {
 public:
  Encoder();
  ~Encoder();
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;

  // kNone: *out are the bytes, which live until the next call; equal content gives equal bytes.
  // Anything else: the invariant (invariants.h) that the value breaks; kTimeOutOfRange where a time
  // is no multiple of time_unit_ns behind the first; kLimitExceeded where the value is larger than
  // a payload may be. Every number may come from outside, so no value stops the program. Names and
  // texts that are too long are cut.
  [[nodiscard]] DropReason TryEncode(const EventBatch& batch, Bytes* out);
  [[nodiscard]] DropReason TryEncode(const PatternBatch& batch, Bytes* out);
  [[nodiscard]] DropReason TryEncode(const CollectiveBatch& batch, Bytes* out);
  [[nodiscard]] DropReason TryEncode(const CollectiveSummary& summary, Bytes* out);
  [[nodiscard]] DropReason TryEncode(const Finding& finding, Bytes* out);
  [[nodiscard]] DropReason TryEncode(const Control& control, Bytes* out);
  [[nodiscard]] DropReason TryEncode(const RankStanding& standing, Bytes* out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class Decoder {
 public:
  Decoder();
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  // kNone: *out holds the batch (its memory is reused). Anything else: *out is unspecified and the
  // payload belongs on the dead-letter topic.
  DropReason Decode(Bytes payload, EventBatch* out);
  DropReason Decode(Bytes payload, PatternBatch* out);
  DropReason Decode(Bytes payload, CollectiveBatch* out);
  DropReason Decode(Bytes payload, CollectiveSummary* out);
  DropReason Decode(Bytes payload, Finding* out);
  DropReason Decode(Bytes payload, Control* out);
  DropReason Decode(Bytes payload, RankStanding* out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace eroica
