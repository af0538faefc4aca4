#include "stream_ops/runtime/changelog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "schemas/check.h"

namespace eroica {
namespace {

constexpr char kRowKey = 'r';
constexpr char kCommitKey = 'p';
constexpr size_t kNumberBytes = sizeof(uint16_t);
constexpr size_t kRowKeyBytes = 1 + kNumberBytes;

std::string Number(size_t number) {
  return {static_cast<char>((number >> 8) & 0xff), static_cast<char>(number & 0xff)};
}

uint16_t ReadNumber(std::string_view bytes) {
  return static_cast<uint16_t>((static_cast<unsigned char>(bytes[0]) << 8) |
                               static_cast<unsigned char>(bytes[1]));
}

std::string RowKey(std::string_view row, size_t chunk) {
  std::string key(1, kRowKey);
  key.append(Number(chunk)).append(row);
  return key;
}

template <typename Value>
bool Parse(std::string_view text, int base, Value* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string ChangelogTopic(std::string_view prefix, std::string_view stage) {
  return fmt::format("{}.{}-changelog", prefix, stage);
}

std::string RowName(Table table, std::string_view key) {
  std::string row(1, static_cast<char>(table));
  row.append(key);
  return row;
}

std::optional<std::pair<Table, std::string_view>> ParseRowName(std::string_view row) {
  if (row.empty()) return std::nullopt;
  const auto table = static_cast<Table>(row[0]);
  if (std::ranges::find(kChangelogTables, table) == std::end(kChangelogTables)) return std::nullopt;
  return std::pair{table, row.substr(1)};
}

std::string EncodeWriter(const ChangelogWriter& writer) {
  return fmt::format("{}.{:016x}", writer.epoch, writer.id);
}

std::optional<ChangelogWriter> DecodeWriter(std::string_view text) {
  const size_t dot = text.find('.');
  ChangelogWriter writer;
  if (dot == std::string_view::npos || !Parse(text.substr(0, dot), 10, &writer.epoch) ||
      !Parse(text.substr(dot + 1), 16, &writer.id) || writer.epoch <= 0)
    return std::nullopt;
  return writer;
}

std::optional<ChangelogEntry> DecodeChangelogRecord(const ConsumerRecord& record) {
  const std::optional<std::string_view> header = FindHeader(record.headers, kHeaderWriter);
  const std::optional<ChangelogWriter> writer = header ? DecodeWriter(*header) : std::nullopt;
  if (!writer) return std::nullopt;
  ChangelogEntry entry{.writer = *writer, .position = std::nullopt, .row = {}, .bytes = {}};
  const std::string_view key = record.key;
  if (key == std::string_view(&kCommitKey, 1)) {
    entry.position = DecodePosition(record.value);
    return entry.position ? std::optional(entry) : std::nullopt;
  }
  if (key.size() < kRowKeyBytes || key[0] != kRowKey) return std::nullopt;
  entry.chunk = ReadNumber(key.substr(1));
  entry.row = key.substr(kRowKeyBytes);
  if (!ParseRowName(entry.row)) return std::nullopt;
  if (record.value.empty()) return entry;
  if (record.value.size() < kNumberBytes) return std::nullopt;
  entry.chunks = ReadNumber(record.value);
  entry.bytes = std::string_view(record.value).substr(kNumberBytes);
  return entry.chunk < entry.chunks ? std::optional(entry) : std::nullopt;
}

ChangelogRecords::ChangelogRecords(std::string topic, int32_t partition, ChangelogWriter writer,
                                   size_t record_bytes_max)
    : topic_(std::move(topic)),
      partition_(partition),
      writer_(EncodeWriter(writer)),
      record_bytes_max_(record_bytes_max) {
  EROICA_CHECK(record_bytes_max_ >= 1'000);
}

ProducerRecord ChangelogRecords::Record(std::string key, std::string value) const {
  return {.topic = topic_,
          .key = std::move(key),
          .value = std::move(value),
          .headers = {{std::string(kHeaderWriter), writer_}},
          .timestamp_ms = 0,
          .partition = partition_};
}

size_t ChangelogRecords::ChunkBytes(std::string_view row) const {
  const size_t around = RecordBytes(Record(RowKey(row, 0), Number(0)));
  // A log that sets no limit has one here: chunks are counted in 16 bits.
  const size_t most = std::min(record_bytes_max_, size_t{16} << 20);
  return most > around + 1 ? most - around : 1;
}

size_t ChangelogRecords::ChunksOf(std::string_view row, size_t bytes) const {
  const size_t chunk = ChunkBytes(row);
  return bytes == 0 ? 1 : (bytes + chunk - 1) / chunk;
}

void ChangelogRecords::Put(std::string_view row, std::string_view value, size_t former_bytes,
                           std::vector<ProducerRecord>* out) const {
  const size_t chunk_bytes = ChunkBytes(row);
  const size_t chunks = ChunksOf(row, value.size());
  EROICA_CHECK(chunks <= std::numeric_limits<uint16_t>::max());
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    std::string bytes = Number(chunks);
    bytes.append(value.substr(chunk * chunk_bytes, chunk_bytes));
    out->push_back(Record(RowKey(row, chunk), std::move(bytes)));
  }
  DeleteChunks(row, chunks, former_bytes, out);
}

void ChangelogRecords::Delete(std::string_view row, size_t former_bytes,
                              std::vector<ProducerRecord>* out) const {
  DeleteChunks(row, 0, std::max<size_t>(former_bytes, 1), out);
}

void ChangelogRecords::DeleteChunks(std::string_view row, size_t first, size_t former_bytes,
                                    std::vector<ProducerRecord>* out) const {
  const size_t former = former_bytes == 0 ? 0 : ChunksOf(row, former_bytes);
  for (size_t chunk = first; chunk < former; ++chunk)
    out->push_back(Record(RowKey(row, chunk), {}));
}

ProducerRecord ChangelogRecords::Committed(const TaskPosition& position) const {
  return Record(std::string(1, kCommitKey), EncodePosition(position));
}

}  // namespace eroica
