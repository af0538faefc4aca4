#include "stream_ops/recording/partition_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "stream_ops/recording/cut_end.h"
#include "stream_ops/recording/partition_writer.h"

namespace eroica {

namespace {

constexpr size_t kReadWindow = 256u << 10;
// Ranges that are kept for whoever asks; who never asks has the log lines.
constexpr size_t kDamagedLimit = 1'000;
// A hole in the row of segments (someone deleted one) is noticed this late.
constexpr std::chrono::seconds kListInterval{1};

std::string ParentOf(const std::string& directory) {
  return std::filesystem::path(directory).parent_path().string();
}

}  // namespace

RecordedPartitionReader::RecordedPartitionReader(std::string directory, TopicPartition partition,
                                                 std::shared_ptr<TopicFolder> topic,
                                                 std::function<void()> at_end)
    : directory_(std::move(directory)),
      partition_(std::move(partition)),
      topic_(topic != nullptr ? std::move(topic)
                              : std::make_shared<TopicFolder>(ParentOf(directory_))),
      at_end_(std::move(at_end)) {}

absl::Status RecordedPartitionReader::Read(size_t max_records, std::vector<ConsumerRecord>* out) {
  const size_t wanted = out->size() + max_records;
  while (out->size() < wanted) {
    if (!segment_) {
      const absl::StatusOr<bool> opened = OpenSegment();
      if (!opened.ok()) return opened.status();
      if (!*opened) break;
    }
    const absl::StatusOr<SegmentReader::Step> step = segment_->Next();
    if (!step.ok()) return step.status();
    if (*step == SegmentReader::Step::kEntry) {
      if (absl::Status status = TakeEntry(out); !status.ok()) return status;
      continue;
    }
    const absl::StatusOr<bool> more = Advance(*step);
    if (!more.ok()) return more.status();
    if (*more) continue;
    if (at_end_) std::exchange(at_end_, {})();
    break;
  }
  return absl::OkStatus();
}

void RecordedPartitionReader::Seek(int64_t offset) {
  position_ = offset;
  segment_.reset();
  successor_.reset();
}

// A recording of one host has many partitions that no rank ever writes: there is no folder of them.
bool RecordedPartitionReader::IsStillMissing() {
  const std::optional<std::chrono::nanoseconds> topic_changed = topic_->LastChange();
  if (missing_since_ && missing_since_ == topic_changed) return true;
  missing_since_.reset();
  if (::access(directory_.c_str(), F_OK) == 0 || errno != ENOENT) return false;
  missing_since_ = topic_changed;
  return true;
}

// The segment that holds position_: the last that begins at or before it, else the first. False:
// there is none yet. A folder that was listed in vain is not listed again before it changes, which
// would be most of what following many empty ones costs.
absl::StatusOr<bool> RecordedPartitionReader::OpenSegment() {
  if (IsStillMissing()) return false;
  while (true) {
    const std::optional<std::chrono::nanoseconds> changed = LastChangeOfFolder(directory_);
    if (empty_since_ && empty_since_ == changed) return false;
    const absl::StatusOr<std::vector<int64_t>> bases = ListSegments(directory_);
    if (!bases.ok()) return bases.status();
    if (bases->empty()) {
      empty_since_ = changed;
      return false;
    }
    auto base = std::upper_bound(bases->begin(), bases->end(), position_);
    if (base != bases->begin()) --base;
    absl::StatusOr<SegmentReader> segment = SegmentReader::Open(directory_, *base, kReadWindow);
    if (absl::IsNotFound(segment.status())) continue;  // retention has deleted it meanwhile
    if (!segment.ok()) return segment.status();
    GoOnFrom(*base);
    segment_ = *std::move(segment);
    counted_to_ = 0;
    return true;
  }
}

// As with Kafka, who is behind the oldest record that is left goes on with that one.
void RecordedPartitionReader::GoOnFrom(int64_t base_offset) {
  if (position_ >= base_offset) return;
  missing_records_ += base_offset - position_;
  if (position_ > 0) {
    spdlog::warn(
        "recording: records are gone, going on with the next ones partition={}/{} position={} "
        "next={} lost={}",
        partition_.topic, partition_.partition, position_, base_offset, base_offset - position_);
  }
  position_ = base_offset;
}

// The entry that the segment has just shown, if it is at or behind the position and its body is
// intact.
absl::Status RecordedPartitionReader::TakeEntry(std::vector<ConsumerRecord>* out) {
  const EntryHeader& header = segment_->header();
  const int64_t start = segment_->entry_position();
  CountDamage(start - segment_->damaged_before(), start, "damaged bytes");
  counted_to_ = std::min(counted_to_, start);
  if (header.offset < position_) return absl::OkStatus();
  if (segment_->damaged_before() > 0) NoteDamaged(header.offset, "damaged bytes");
  const absl::StatusOr<std::string_view> body = segment_->ReadBody();
  if (!body.ok()) return body.status();
  position_ = header.offset;
  ConsumerRecord record;
  if (!BodyIsIntact(header, *body) || !DecodeEntry(header, *body, &record)) {
    NoteDamaged(header.offset + 1, "a damaged entry");
    CountDamage(start, segment_->position(), "a damaged entry");
    return absl::OkStatus();
  }
  position_ = header.offset + 1;
  record.topic = partition_.topic;
  record.partition = partition_.partition;
  out->push_back(std::move(record));
  return absl::OkStatus();
}

// The segment is at its end: goes on to the one behind it. False: there is nothing more yet.
absl::StatusOr<bool> RecordedPartitionReader::Advance(SegmentReader::Step step) {
  const bool tail = step == SegmentReader::Step::kTail;
  if (!successor_) {
    absl::StatusOr<std::optional<int64_t>> successor = FindSuccessor(step);
    if (!successor.ok()) return successor.status();
    successor_ = *successor;
    if (!successor_ && tail && !IsBeingWritten(directory_)) CountTornTail(*segment_);
    return successor_.has_value();
  }
  if (tail) {
    CountDamage(segment_->position(), segment_->tail_end(), "damaged bytes");
    NoteDamaged(*successor_, "damaged bytes");
  }
  GoOnFrom(*successor_);
  segment_.reset();
  successor_.reset();
  return true;
}

// In the ordinary case the segment behind is named by the next offset, which costs one look; a list
// is made where that cannot be relied on.
absl::StatusOr<std::optional<int64_t>> RecordedPartitionReader::FindSuccessor(
    SegmentReader::Step step) {
  const int64_t expected = segment_->next_offset();
  if (expected > segment_->base_offset() &&
      ::access(SegmentPath(directory_, expected).c_str(), F_OK) == 0)
    return expected;
  const auto now = std::chrono::steady_clock::now();
  if (step == SegmentReader::Step::kEnd && now - listed_at_ < kListInterval) return std::nullopt;
  listed_at_ = now;
  const absl::StatusOr<std::vector<int64_t>> bases = ListSegments(directory_);
  if (!bases.ok()) return bases.status();
  const auto behind = std::upper_bound(bases->begin(), bases->end(), segment_->base_offset());
  return behind == bases->end() ? std::nullopt : std::optional(*behind);
}

// Whether it was reached by reading or by asking for the end: once.
void RecordedPartitionReader::CountTornTail(const SegmentReader& segment) {
  int64_t from = segment.position();
  if (torn_base_ == segment.base_offset()) from = std::max(from, torn_to_);
  torn_base_ = segment.base_offset();
  torn_to_ = segment.tail_end();
  if (segment_ && segment_->base_offset() == torn_base_)
    counted_to_ = std::max(counted_to_, torn_to_);
  if (from >= torn_to_) return;
  corrupt_bytes_ += static_cast<uint64_t>(torn_to_ - from);
  spdlog::warn("recording: the last entry is cut off file={} position={} bytes={} next_offset={}",
               segment.path(), from, torn_to_ - from, segment.next_offset());
}

void RecordedPartitionReader::CountDamage(int64_t from, int64_t to, std::string_view what) {
  from = std::max(from, counted_to_);
  if (from >= to) return;
  counted_to_ = to;
  corrupt_bytes_ += static_cast<uint64_t>(to - from);
  spdlog::warn("recording: skipped {} file={} position={} bytes={} next_offset={}", what,
               segment_->path(), from, to - from, position_);
}

// Of what lies from the position on, up to `end`: goes on behind it.
void RecordedPartitionReader::NoteDamaged(int64_t end, std::string_view what) {
  if (position_ >= end) return;
  if (damaged_.size() < kDamagedLimit)
    damaged_.push_back(
        {partition_, position_, end, fmt::format("{} in {}", what, segment_->path())});
  position_ = end;
}

absl::StatusOr<int64_t> RecordedPartitionReader::EndOffset() {
  while (true) {
    bool is_torn = false;
    if (end_) {
      const absl::StatusOr<SegmentReader::Step> step = WalkToEnd(directory_, &*end_);
      if (!step.ok()) return step.status();
      is_torn = *step == SegmentReader::Step::kTail;
    }
    const absl::StatusOr<std::vector<int64_t>> bases = ListSegments(directory_);
    if (!bases.ok()) return bases.status();
    if (bases->empty()) return 0;
    missing_since_.reset();  // who knows of an end may read up to it
    if (end_ && bases->back() <= end_->base_offset()) {
      if (is_torn) CountTornTail(*end_);
      return end_->next_offset();
    }
    absl::StatusOr<SegmentReader> newest =
        SegmentReader::Open(directory_, bases->back(), kHopWindow);
    if (!newest.ok()) return newest.status();
    end_ = *std::move(newest);
  }
}

// Times are not in order within a partition, so every header up to the first that is late enough is
// looked at.
absl::StatusOr<int64_t> RecordedPartitionReader::OffsetForTime(int64_t timestamp_ms) {
  const absl::StatusOr<std::vector<int64_t>> bases = ListSegments(directory_);
  if (!bases.ok()) return bases.status();
  for (const int64_t base : *bases) {
    absl::StatusOr<SegmentReader> segment = SegmentReader::Open(directory_, base, kHopWindow);
    if (absl::IsNotFound(segment.status())) continue;  // retention has deleted it meanwhile
    if (!segment.ok()) return segment.status();
    while (true) {
      const absl::StatusOr<SegmentReader::Step> step = segment->Next();
      if (!step.ok()) return step.status();
      if (*step != SegmentReader::Step::kEntry) break;
      if (segment->header().timestamp_ms >= timestamp_ms) return segment->header().offset;
    }
  }
  return EndOffset();
}

}  // namespace eroica
