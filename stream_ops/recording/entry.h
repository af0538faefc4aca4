// One record as it lies in a segment: a header of fixed size, then a body. All numbers are little
// endian.
//
//   header  sync marker u32 | body size u32 | offset i64 | timestamp (ms) i64 | body checksum u64 |
//           flags u32 | header checksum u32
//   body    key size u32 | value size u32 | headers u32 | per header: name size u32, value size
//           u32, name, value | key | value
//
// The checksums are XXH3. The header has its own, so that a damaged size leads nobody astray: an
// entry's end is known even where its body is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stream_ops/log/log.h"

namespace eroica {

inline constexpr size_t kEntryHeaderSize = 40;
// The largest body, compressed or not: above what any payload may be (CodecLimits::kPayloadBytes).
inline constexpr uint32_t kMaxEntryBody = 128u << 20;

struct EntryHeader {
  uint32_t body_size = 0;
  int64_t offset = 0;
  int64_t timestamp_ms = 0;
  uint64_t body_checksum = 0;
  bool compressed = false;  // the value is an lz4 block; "value size" is what it unpacks to
};

// The bytes of the entry replace those in *out. compress: try lz4 on the value and keep the
// smaller. False: beyond kMaxEntryBody.
bool EncodeEntry(const ProducerRecord& record, int64_t offset, bool compress, std::string* out);

// Nothing: these are not the bytes of an intact header.
std::optional<EntryHeader> DecodeEntryHeader(std::string_view bytes);
bool BodyIsIntact(const EntryHeader& header, std::string_view body);
// Everything but topic and partition. False: the body does not hold what it says.
bool DecodeEntry(const EntryHeader& header, std::string_view body, ConsumerRecord* record);

// Where the next sync marker begins at or after `from`; npos: nowhere.
size_t FindSyncMarker(std::string_view bytes, size_t from);

}  // namespace eroica
