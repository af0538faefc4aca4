// The one writer of a recorded partition: appends entries to its newest segment and begins a new
// one when that is full.
//
// Holds the partition's lock file as long as it lives. On opening it cuts off what a crash left
// behind the last whole entry, and says so.
// An entry is one write: other processes see it at once, and a kill -9 of this one loses nothing
// that Append took. Thread-safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "schemas/mutex.h"
#include "stream_ops/log/log.h"
#include "stream_ops/recording/file.h"

namespace eroica {

struct PartitionWriterOptions {
  int64_t segment_bytes = int64_t{256} << 20;
  bool compress = true;
  // Segments that were last written longer ago are deleted when the writer is opened and whenever
  // it begins a segment; nothing: they stay.
  std::optional<std::chrono::milliseconds> retention{};
  bool sync = true;  // false: Flush leaves it to the operating system when the disk has it
};

inline constexpr std::string_view kWriterLockName = "writer.lock";

// Whether a writer of the partition lives, in this process or another.
bool IsBeingWritten(const std::string& directory);

class PartitionWriter {
 public:
  // kFailedPrecondition: someone else writes it.
  static absl::StatusOr<std::unique_ptr<PartitionWriter>> Open(
      std::string directory, const PartitionWriterOptions& options);

  absl::Status Append(const ProducerRecord& record);
  // Waits until everything appended is on the disk.
  absl::Status Flush();

  // Bytes that were cut off when it was opened.
  int64_t torn_bytes() const { return torn_bytes_; }

 private:
  PartitionWriter(std::string directory, const PartitionWriterOptions& options, File lock)
      : directory_(std::move(directory)), options_(options), lock_(std::move(lock)) {}

  absl::Status Recover();
  absl::Status DeleteOldSegments() const EROICA_REQUIRES(mutex_);
  bool SegmentIsFull(size_t entry_bytes) const EROICA_REQUIRES(mutex_);
  absl::Status BeginSegment(int64_t base_offset) EROICA_REQUIRES(mutex_);
  absl::Status Write(std::string_view entry) EROICA_REQUIRES(mutex_);

  const std::string directory_;
  const PartitionWriterOptions options_;
  const File lock_;
  int64_t torn_bytes_ = 0;

  Mutex mutex_;
  std::optional<File> segment_ EROICA_GUARDED_BY(mutex_);
  int64_t position_ EROICA_GUARDED_BY(mutex_) = 0;  // where the next entry goes
  int64_t next_offset_ EROICA_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point begun_at_
      EROICA_GUARDED_BY(mutex_);  // this process began the segment, or found it
  bool unsynced_ EROICA_GUARDED_BY(mutex_) = false;
  bool torn_ EROICA_GUARDED_BY(mutex_) =
      false;  // a write failed half-way and its bytes are still there
  std::string entry_ EROICA_GUARDED_BY(mutex_);
};

}  // namespace eroica
