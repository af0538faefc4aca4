#include "stream_ops/recording/segment_deletion.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <vector>

#include "schemas/outside_time.h"
#include "stream_ops/recording/file.h"
#include "stream_ops/recording/segment.h"

namespace eroica {
namespace {

absl::Status DeleteSegment(const std::string& directory, int64_t base_offset) {
  const std::string path = SegmentPath(directory, base_offset);
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return FileError(errno, "delete", path);
}

// From the oldest on, while `is_over` says so of a segment, given its base and the next one's.
absl::Status DeleteOldest(const std::string& directory,
                          const std::function<bool(int64_t base, int64_t next_base)>& is_over) {
  const absl::StatusOr<std::vector<int64_t>> bases = ListSegments(directory);
  if (!bases.ok()) return bases.status();
  for (size_t i = 0; i + 1 < bases->size() && is_over((*bases)[i], (*bases)[i + 1]); ++i) {
    if (absl::Status status = DeleteSegment(directory, (*bases)[i]); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Where the entry of this offset, or the first behind it, begins in the segment; its end where
// there is none.
absl::StatusOr<int64_t> PositionOf(const std::string& directory, int64_t base_offset,
                                   int64_t offset, int64_t* next_offset) {
  absl::StatusOr<SegmentReader> segment = SegmentReader::Open(directory, base_offset, kHopWindow);
  if (!segment.ok()) return segment.status();
  int64_t position = static_cast<int64_t>(kSegmentHeaderSize);
  *next_offset = base_offset;
  while (true) {
    const absl::StatusOr<SegmentReader::Step> step = segment->Next();
    if (!step.ok()) return step.status();
    if (*step != SegmentReader::Step::kEntry || segment->header().offset >= offset) return position;
    position = segment->position();
    *next_offset = segment->next_offset();
  }
}

}  // namespace

absl::Status DeleteSegmentsBelow(const std::string& directory, int64_t offset) {
  return DeleteOldest(directory, [offset](int64_t, int64_t next) { return next <= offset; });
}

absl::Status DeleteSegmentsWrittenBefore(const std::string& directory,
                                         std::chrono::system_clock::time_point time) {
  return DeleteOldest(directory, [&](int64_t base, int64_t) {
    struct stat file {};
    if (::stat(SegmentPath(directory, base).c_str(), &file) != 0) return errno == ENOENT;
    return std::chrono::nanoseconds(ModifiedNs(file)) < time.time_since_epoch();
  });
}

absl::Status TruncatePartition(const std::string& directory, int64_t end_offset) {
  const absl::StatusOr<std::vector<int64_t>> bases = ListSegments(directory);
  if (!bases.ok()) return bases.status();
  size_t kept = bases->size();
  while (kept > 0 && (*bases)[kept - 1] > end_offset) --kept;
  if (kept == 0) {
    if (end_offset == 0) return absl::OkStatus();
    return absl::DataLossError(fmt::format("{} holds no record before {}", directory, end_offset));
  }
  int64_t next_offset = 0;
  const absl::StatusOr<int64_t> position =
      PositionOf(directory, (*bases)[kept - 1], end_offset, &next_offset);
  if (!position.ok()) return position.status();
  if (next_offset < end_offset)
    return absl::DataLossError(
        fmt::format("{} ends at {}, before {}", directory, next_offset, end_offset));
  for (size_t i = bases->size(); i > kept; --i) {
    if (absl::Status status = DeleteSegment(directory, (*bases)[i - 1]); !status.ok())
      return status;
  }
  absl::StatusOr<File> file = File::Open(SegmentPath(directory, (*bases)[kept - 1]), O_WRONLY);
  if (!file.ok()) return file.status();
  return file->Truncate(*position);
}

}  // namespace eroica
