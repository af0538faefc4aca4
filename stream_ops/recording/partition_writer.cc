#include "stream_ops/recording/partition_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "stream_ops/recording/entry.h"
#include "stream_ops/recording/segment.h"
#include "stream_ops/recording/segment_deletion.h"

namespace eroica {

namespace {

// A segment takes records for this part of the retention at most: so much more than it is kept.
constexpr int kSegmentsOfRetention = 8;

absl::Status LockedByOther(const std::string& directory, const std::string& lock_path) {
  const absl::StatusOr<std::string> owner = ReadWholeFile(lock_path);
  return absl::FailedPreconditionError(
      fmt::format("{} is being recorded by another writer (process {}): stop that one, or record "
                  "to another folder",
                  directory, owner.ok() && !owner->empty() ? *owner : "unknown"));
}

}  // namespace

bool IsBeingWritten(const std::string& directory) {
  const absl::StatusOr<File> lock =
      File::Open(fmt::format("{}/{}", directory, kWriterLockName), O_RDONLY);
  return lock.ok() && lock->IsLocked();
}

absl::StatusOr<std::unique_ptr<PartitionWriter>> PartitionWriter::Open(
    std::string directory, const PartitionWriterOptions& options) {
  if (absl::Status status = MakeDirectories(directory); !status.ok()) return status;
  const std::string lock_path = fmt::format("{}/{}", directory, kWriterLockName);
  absl::StatusOr<File> lock = File::Open(lock_path, O_RDWR | O_CREAT);
  if (!lock.ok()) return lock.status();
  const absl::StatusOr<bool> locked = lock->TryLock();
  if (!locked.ok()) return locked.status();
  if (!*locked) return LockedByOther(directory, lock_path);
  if (absl::Status status = lock->Truncate(0); !status.ok()) return status;
  if (absl::Status status = lock->WriteAt(0, std::to_string(::getpid())); !status.ok())
    return status;

  std::unique_ptr<PartitionWriter> writer(
      new PartitionWriter(std::move(directory), options, *std::move(lock)));
  if (absl::Status status = writer->Recover(); !status.ok()) return status;
  {
    const MutexLock held(writer->mutex_);
    if (absl::Status status = writer->DeleteOldSegments(); !status.ok()) return status;
  }
  return writer;
}

// Finds the end of the newest segment and cuts off what is no entry behind it.
absl::Status PartitionWriter::Recover() {
  const MutexLock guard(mutex_);
  const absl::StatusOr<std::vector<int64_t>> bases = ListSegments(directory_);
  if (!bases.ok()) return bases.status();
  if (bases->empty()) return BeginSegment(0);

  absl::StatusOr<SegmentReader> reader = SegmentReader::Open(directory_, bases->back(), kHopWindow);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<SegmentReader::Step> step = SegmentReader::Step::kEntry;
  while (step.ok() && *step == SegmentReader::Step::kEntry) step = reader->Next();
  if (!step.ok()) return step.status();

  absl::StatusOr<File> segment = File::Open(reader->path(), O_WRONLY);
  if (!segment.ok()) return segment.status();
  position_ = reader->position();
  next_offset_ = reader->next_offset();
  if (*step == SegmentReader::Step::kTail) {
    torn_bytes_ = reader->tail_end() - position_;
    spdlog::warn("recording: cut off a torn tail file={} position={} bytes={} next_offset={}",
                 reader->path(), position_, torn_bytes_, next_offset_);
    if (absl::Status status = segment->Truncate(position_); !status.ok()) return status;
  }
  if (position_ == 0) {
    if (absl::Status status = segment->WriteAt(0, EncodeSegmentHeader(bases->back())); !status.ok())
      return status;
    position_ = kSegmentHeaderSize;
  }
  segment_ = *std::move(segment);
  begun_at_ = std::chrono::steady_clock::now();
  unsynced_ = true;
  return absl::OkStatus();
}

absl::Status PartitionWriter::DeleteOldSegments() const {
  if (!options_.retention) return absl::OkStatus();
  return DeleteSegmentsWrittenBefore(directory_,
                                     std::chrono::system_clock::now() - *options_.retention);
}

bool PartitionWriter::SegmentIsFull(size_t entry_bytes) const {
  if (position_ <= static_cast<int64_t>(kSegmentHeaderSize)) return false;
  if (position_ + static_cast<int64_t>(entry_bytes) > options_.segment_bytes) return true;
  return options_.retention &&
         std::chrono::steady_clock::now() - begun_at_ > *options_.retention / kSegmentsOfRetention;
}

// The full segment is on the disk before the next one can be seen.
absl::Status PartitionWriter::BeginSegment(int64_t base_offset) {
  if (segment_ && options_.sync) {
    if (absl::Status status = segment_->SyncData(); !status.ok()) return status;
  }
  absl::StatusOr<File> segment =
      File::Open(SegmentPath(directory_, base_offset), O_WRONLY | O_CREAT);
  if (!segment.ok()) return segment.status();
  if (absl::Status status = segment->WriteAt(0, EncodeSegmentHeader(base_offset)); !status.ok())
    return status;
  if (options_.sync) {
    if (absl::Status status = SyncDirectory(directory_); !status.ok()) return status;
  }
  segment_ = *std::move(segment);
  begun_at_ = std::chrono::steady_clock::now();
  position_ = kSegmentHeaderSize;
  unsynced_ = true;
  return absl::OkStatus();
}

absl::Status PartitionWriter::Append(const ProducerRecord& record) {
  const MutexLock guard(mutex_);
  if (!EncodeEntry(record, next_offset_, options_.compress, &entry_)) {
    return absl::InvalidArgumentError(
        fmt::format("a record of {} bytes for {} is larger than the {} that an entry may have",
                    record.value.size(), record.topic, kMaxEntryBody));
  }
  if (SegmentIsFull(entry_.size())) {
    if (absl::Status status = BeginSegment(next_offset_); !status.ok()) return status;
    if (absl::Status status = DeleteOldSegments(); !status.ok()) return status;
  }
  return Write(entry_);
}

// All of the entry or nothing: what a full disk leaves half-written is taken back, now or before
// the next try.
absl::Status PartitionWriter::Write(std::string_view entry) {
  if (torn_) {
    if (absl::Status status = segment_->Truncate(position_); !status.ok()) return status;
    torn_ = false;
  }
  if (absl::Status status = segment_->WriteAt(position_, entry); !status.ok()) {
    torn_ = !segment_->Truncate(position_).ok();
    return status;
  }
  position_ += static_cast<int64_t>(entry.size());
  ++next_offset_;
  unsynced_ = true;
  return absl::OkStatus();
}

absl::Status PartitionWriter::Flush() {
  const MutexLock guard(mutex_);
  if (!unsynced_ || !options_.sync) return absl::OkStatus();
  if (absl::Status status = segment_->SyncData(); !status.ok()) return status;
  unsynced_ = false;
  return absl::OkStatus();
}

}  // namespace eroica
