#include "stream_ops/recording/entry.h"

#include <lz4.h>
#include <xxhash.h>

#include <bit>
#include <cstring>

namespace eroica {

static_assert(std::endian::native == std::endian::little,
              "segments are little endian, and so is every machine that we run on");

namespace {

// Four bytes that text, FlatBuffers and lz4 blocks seldom hold.
constexpr std::string_view kSyncMarker = "\xe5\x0e\xc0\xfe";
constexpr uint32_t kFlagCompressed = 1;
constexpr size_t kHeaderChecksumAt = kEntryHeaderSize - sizeof(uint32_t);
// Below this a value is not worth trying to compress.
constexpr size_t kCompressFrom = 64;

template <typename T>
void Put(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
T Get(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// Takes bytes off the front of a body; whatever does not fit is refused.
class BodyReader {
 public:
  explicit BodyReader(std::string_view bytes) : rest_(bytes) {}

  bool Take(uint32_t* value) {
    if (rest_.size() < sizeof(*value)) return false;
    *value = Get<uint32_t>(rest_, 0);
    rest_.remove_prefix(sizeof(*value));
    return true;
  }
  bool Take(size_t size, std::string* value) {
    if (rest_.size() < size) return false;
    value->assign(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return true;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

uint32_t HeaderChecksum(std::string_view header) {
  return static_cast<uint32_t>(XXH3_64bits(header.data(), kHeaderChecksumAt));
}

// Appends the value, packed if that is smaller. Returns whether it is packed.
bool AppendValue(std::string_view value, bool compress, std::string* out) {
  if (compress && value.size() >= kCompressFrom && value.size() <= LZ4_MAX_INPUT_SIZE) {
    const size_t start = out->size();
    // One byte less than the value: what does not get smaller is stored as it is.
    out->resize(start + value.size() - 1);
    const int packed =
        LZ4_compress_default(value.data(), out->data() + start, static_cast<int>(value.size()),
                             static_cast<int>(value.size() - 1));
    out->resize(start + static_cast<size_t>(packed));
    if (packed > 0) return true;
  }
  out->append(value);
  return false;
}

}  // namespace

bool EncodeEntry(const ProducerRecord& record, int64_t offset, bool compress, std::string* out) {
  size_t headers_size = 0;
  for (const auto& [name, value] : record.headers)
    headers_size += 2 * sizeof(uint32_t) + name.size() + value.size();
  if (3 * sizeof(uint32_t) + headers_size + record.key.size() + record.value.size() > kMaxEntryBody)
    return false;

  out->assign(kEntryHeaderSize, '\0');
  Put(static_cast<uint32_t>(record.key.size()), out);
  Put(static_cast<uint32_t>(record.value.size()), out);
  Put(static_cast<uint32_t>(record.headers.size()), out);
  for (const auto& [name, value] : record.headers) {
    Put(static_cast<uint32_t>(name.size()), out);
    Put(static_cast<uint32_t>(value.size()), out);
    out->append(name).append(value);
  }
  out->append(record.key);
  const bool compressed = AppendValue(record.value, compress, out);

  const std::string_view body = std::string_view(*out).substr(kEntryHeaderSize);
  std::string header;
  header.reserve(kEntryHeaderSize);
  header.append(kSyncMarker);
  Put(static_cast<uint32_t>(body.size()), &header);
  Put(offset, &header);
  Put(record.timestamp_ms, &header);
  Put(static_cast<uint64_t>(XXH3_64bits(body.data(), body.size())), &header);
  Put(compressed ? kFlagCompressed : 0u, &header);
  Put(HeaderChecksum(header), &header);
  out->replace(0, kEntryHeaderSize, header);
  return true;
}

std::optional<EntryHeader> DecodeEntryHeader(std::string_view bytes) {
  if (bytes.size() < kEntryHeaderSize || !bytes.starts_with(kSyncMarker)) return std::nullopt;
  if (Get<uint32_t>(bytes, kHeaderChecksumAt) != HeaderChecksum(bytes)) return std::nullopt;
  const EntryHeader header{.body_size = Get<uint32_t>(bytes, 4),
                           .offset = Get<int64_t>(bytes, 8),
                           .timestamp_ms = Get<int64_t>(bytes, 16),
                           .body_checksum = Get<uint64_t>(bytes, 24),
                           .compressed = (Get<uint32_t>(bytes, 32) & kFlagCompressed) != 0};
  if (header.body_size > kMaxEntryBody || header.offset < 0) return std::nullopt;
  return header;
}

bool BodyIsIntact(const EntryHeader& header, std::string_view body) {
  return body.size() == header.body_size &&
         XXH3_64bits(body.data(), body.size()) == header.body_checksum;
}

bool DecodeEntry(const EntryHeader& header, std::string_view body, ConsumerRecord* record) {
  record->offset = header.offset;
  record->timestamp_ms = header.timestamp_ms;
  BodyReader reader(body);
  uint32_t key_size = 0;
  uint32_t value_size = 0;
  uint32_t header_count = 0;
  if (!reader.Take(&key_size) || !reader.Take(&value_size) || !reader.Take(&header_count))
    return false;
  if (header_count > body.size() / (2 * sizeof(uint32_t)) || value_size > kMaxEntryBody)
    return false;
  record->headers.resize(header_count);
  for (auto& [name, value] : record->headers) {
    uint32_t name_size = 0;
    uint32_t header_size = 0;
    if (!reader.Take(&name_size) || !reader.Take(&header_size)) return false;
    if (!reader.Take(name_size, &name) || !reader.Take(header_size, &value)) return false;
  }
  if (!reader.Take(key_size, &record->key)) return false;

  const std::string_view stored = reader.rest();
  if (!header.compressed) {
    record->value.assign(stored);
    return stored.size() == value_size;
  }
  record->value.resize(value_size);
  const int unpacked =
      LZ4_decompress_safe(stored.data(), record->value.data(), static_cast<int>(stored.size()),
                          static_cast<int>(value_size));
  return unpacked >= 0 && static_cast<uint32_t>(unpacked) == value_size;
}

size_t FindSyncMarker(std::string_view bytes, size_t from) { return bytes.find(kSyncMarker, from); }

}  // namespace eroica
