#include "stream_ops/log/slice_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "schemas/check.h"

namespace eroica {
namespace {

// What a record holds in memory beside its bytes.
constexpr uint64_t kOfRecord = 256;
constexpr size_t kRecordsAtOnce = 256;

uint64_t BytesOf(const ConsumerRecord& record) {
  return kOfRecord + record.key.size() + record.value.size();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SliceReader>> SliceReader::Open(
    const LogSlice& slice, const std::map<TopicPartition, int64_t>& positions,
    const OpenReaders& open) {
  std::unique_ptr<SliceReader> reader(new SliceReader());
  std::map<TopicPartition, int64_t> starts;
  for (const auto& [partition, range] : slice.ranges) {
    const auto position = positions.find(partition);
    const int64_t start = position == positions.end()
                              ? range.start
                              : std::clamp(position->second, range.start, range.end);
    reader->done_ += start - range.start;
    if (start == range.end) {
      reader->finished_[partition] = start;
      continue;
    }
    starts[partition] = start;
    reader->unfilled_.push_back(reader->sources_.size());
    reader->sources_.push_back({.partition = partition,
                                .range = range,
                                .reader = nullptr,
                                .buffer = {},
                                .position = start});
  }
  if (starts.empty()) return reader;
  absl::StatusOr<PartitionReaders> readers = open(starts);
  if (!readers.ok()) return readers.status();
  for (Source& source : reader->sources_) {
    const auto found = readers->find(source.partition);
    EROICA_CHECK(found != readers->end());
    source.reader = std::move(found->second);
  }
  return reader;
}

absl::StatusOr<const ConsumerRecord*> SliceReader::Next() {
  while (!unfilled_.empty()) {
    if (absl::Status status = Fill(unfilled_.back()); !status.ok()) return status;
    unfilled_.pop_back();
  }
  if (fronts_.empty()) return nullptr;
  const Source& source = sources_[fronts_.top().source];
  return &source.buffer[source.next];
}

int64_t SliceReader::next_time_ms() const {
  EROICA_CHECK(unfilled_.empty() && !fronts_.empty());
  return fronts_.top().time_ms;
}

ConsumerRecord SliceReader::Pop() {
  EROICA_CHECK(unfilled_.empty() && !fronts_.empty());
  const size_t index = fronts_.top().source;
  fronts_.pop();
  unfilled_.push_back(index);
  Source& source = sources_[index];
  source.at_front = false;
  ConsumerRecord record = std::move(source.buffer[source.next++]);
  Advance(source, record.offset + 1);
  return record;
}

void SliceReader::Advance(Source& source, int64_t offset) {
  offset = std::min(offset, source.range.end);
  done_ += offset - source.position;
  source.position = offset;
}

// Until the partition's next record is at the front, or the partition is at its end.
absl::Status SliceReader::Fill(size_t index) {
  Source& source = sources_[index];
  if (source.at_front) return absl::OkStatus();
  if (source.next == source.buffer.size()) {
    if (absl::Status status = Read(source); !status.ok()) return status;
    if (source.buffer.empty()) return absl::OkStatus();
  }
  const ConsumerRecord& record = source.buffer[source.next];
  source.time_ms = std::max(source.time_ms, record.timestamp_ms);
  fronts_.push({source.time_ms, index});
  source.at_front = true;
  return absl::OkStatus();
}

// An empty buffer afterwards: the partition is at its end.
absl::Status SliceReader::Read(Source& source) {
  constexpr std::chrono::milliseconds kNap{1};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  source.buffer.clear();
  source.next = 0;
  while (source.buffer.empty() && source.position < source.range.end) {
    if (absl::Status status = source.reader->Read(RecordsAtOnce(source), &source.buffer);
        !status.ok())
      return status;
    for (const DamagedRange& range : source.reader->TakeDamaged()) {
      const int64_t begin = std::max(range.begin, source.range.start);
      damaged_records_ += std::max<int64_t>(0, std::min(range.end, source.range.end) - begin);
    }
    std::erase_if(source.buffer, [&](const ConsumerRecord& record) {
      return record.offset < source.position || record.offset >= source.range.end;
    });
    if (!source.buffer.empty()) break;
    // Past transaction markers, and whatever else is no record.
    Advance(source, std::max(source.position, source.reader->position()));
    if (source.position >= source.range.end) break;
    if (std::chrono::steady_clock::now() >= deadline) {
      return absl::UnavailableError(fmt::format(
          "nothing came of {}/{} from offset {} on for {} s, and it goes to {}: is the log "
          "reachable?",
          source.partition.topic, source.partition.partition, source.position, kPatience.count(),
          source.range.end));
    }
    std::this_thread::sleep_for(kNap);
  }
  for (const ConsumerRecord& record : source.buffer) source.bytes += BytesOf(record);
  source.records += source.buffer.size();
  return absl::OkStatus();
}

size_t SliceReader::RecordsAtOnce(const Source& source) const {
  if (source.records == 0) return 1;
  const uint64_t share = kBufferBytes / sources_.size();
  return std::clamp<size_t>(share / (source.bytes / source.records), 1, kRecordsAtOnce);
}

std::map<TopicPartition, int64_t> SliceReader::positions() const {
  std::map<TopicPartition, int64_t> positions = finished_;
  for (const Source& source : sources_) positions[source.partition] = source.position;
  return positions;
}

int64_t SliceReader::missing_records() const {
  int64_t records = 0;
  for (const Source& source : sources_) records += source.reader->missing_records();
  return records;
}

uint64_t SliceReader::corrupt_bytes() const {
  uint64_t bytes = 0;
  for (const Source& source : sources_) bytes += source.reader->corrupt_bytes();
  return bytes;
}

}  // namespace eroica
