// One segment file of a partition: a header, then entries to the end. Named by the offset of its
// first entry; written only at its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stream_ops/recording/entry.h"
#include "stream_ops/recording/file.h"

namespace eroica {

inline constexpr size_t kSegmentHeaderSize = 24;
inline constexpr uint32_t kSegmentVersion = 1;

// What a SegmentReader that hops from header to header reads at once.
inline constexpr size_t kHopWindow = 4096;

// magic "EROREC1\0" | version u32 | checksum u32 | base offset i64
std::string EncodeSegmentHeader(int64_t base_offset, uint32_t version = kSegmentVersion);
std::string SegmentPath(const std::string& directory, int64_t base_offset);
// The base offsets of the partition's segments, in order.
absl::StatusOr<std::vector<int64_t>> ListSegments(const std::string& directory);

// Walks the entries of one segment, which may be growing. Only an entry whose header is intact and
// whose body is all there is ever shown; where bytes are damaged it looks for the next such entry
// behind them. The bodies are checked only by who reads them. Bytes at the end behind which there
// is nothing (yet) are left alone: they may be an entry that is being written, and the next writer
// cuts them off.
class SegmentReader {
 public:
  enum class Step : uint8_t {
    kEntry,  // header() and entry_position() tell of it
    kEnd,    // nothing behind the last entry; may be tried again
    // bytes behind the last entry that are no entry (yet), up to tail_end(); may be tried again
    kTail,
  };

  // window: bytes to read at once; small for hopping from header to header, large for reading
  // everything.
  static absl::StatusOr<SegmentReader> Open(const std::string& directory, int64_t base_offset,
                                            size_t window);

  absl::StatusOr<Step> Next();

  const std::string& path() const { return file_.path(); }
  int64_t base_offset() const { return base_offset_; }
  // Where Next goes on, and where the last entry began and how many damaged bytes lie before it.
  int64_t position() const { return position_; }
  int64_t entry_position() const { return entry_position_; }
  int64_t damaged_before() const { return damaged_before_; }
  int64_t tail_end() const { return file_size_; }
  // One past the last entry seen.
  int64_t next_offset() const { return next_offset_; }

  const EntryHeader& header() const { return header_; }
  // Of the entry that Next has just shown; lives until the next call.
  absl::StatusOr<std::string_view> ReadBody();

 private:
  enum class Found : uint8_t { kEntry, kNothing, kIncomplete, kDamaged };

  SegmentReader(File file, int64_t base_offset, size_t window)
      : file_(std::move(file)),
        base_offset_(base_offset),
        window_(window),
        next_offset_(base_offset) {}

  absl::StatusOr<Step> ReadSegmentHeader();
  absl::StatusOr<Step> Search(int64_t from);
  absl::StatusOr<Found> LookAt(int64_t position);
  absl::StatusOr<std::string_view> View(int64_t position, size_t size);
  Step Accept(int64_t position);

  File file_;
  int64_t base_offset_;
  size_t window_;
  int64_t file_size_ = 0;  // as last seen
  int64_t position_ = 0;
  int64_t next_offset_;
  EntryHeader header_;
  int64_t entry_position_ = 0;
  int64_t damaged_before_ = 0;
  std::string buffer_;
  int64_t buffer_position_ = 0;
};

}  // namespace eroica
