#include "stream_ops/recording/segment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace eroica {

namespace {

constexpr std::string_view kMagic("EROREC1\0", 8);
constexpr std::string_view kSuffix = ".segment";
constexpr size_t kNameDigits = 20;

// Over everything but the checksum itself.
uint32_t SegmentHeaderChecksum(std::string_view header) {
  std::string checked(header.substr(0, 12));
  checked.append(header.substr(16, 8));
  return static_cast<uint32_t>(XXH3_64bits(checked.data(), checked.size()));
}

}  // namespace

std::string EncodeSegmentHeader(int64_t base_offset, uint32_t version) {
  std::string header(kSegmentHeaderSize, '\0');
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  std::memcpy(header.data() + 8, &version, sizeof(version));
  std::memcpy(header.data() + 16, &base_offset, sizeof(base_offset));
  const uint32_t checksum = SegmentHeaderChecksum(header);
  std::memcpy(header.data() + 12, &checksum, sizeof(checksum));
  return header;
}

std::string SegmentPath(const std::string& directory, int64_t base_offset) {
  return fmt::format("{}/{:020}{}", directory, base_offset, kSuffix);
}

absl::StatusOr<std::vector<int64_t>> ListSegments(const std::string& directory) {
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(directory);
  if (!names.ok()) return names.status();
  std::vector<int64_t> bases;
  for (const std::string& name : *names) {
    if (name.size() != kNameDigits + kSuffix.size() || !name.ends_with(kSuffix)) continue;
    int64_t base = 0;
    const char* digits_end = name.data() + kNameDigits;
    const auto [end, error] = std::from_chars(name.data(), digits_end, base);
    if (error == std::errc() && end == digits_end && base >= 0) bases.push_back(base);
  }
  std::sort(bases.begin(), bases.end());
  return bases;
}

absl::StatusOr<SegmentReader> SegmentReader::Open(const std::string& directory, int64_t base_offset,
                                                  size_t window) {
  absl::StatusOr<File> file = File::Open(SegmentPath(directory, base_offset), O_RDONLY);
  if (!file.ok()) return file.status();
  return SegmentReader(*std::move(file), base_offset, window);
}

absl::StatusOr<SegmentReader::Step> SegmentReader::Next() {
  damaged_before_ = 0;
  if (position_ == 0) {
    const absl::StatusOr<Step> step = ReadSegmentHeader();
    if (!step.ok() || *step != Step::kEntry) return step;
    if (position_ == 0) return Search(1);
  }
  const absl::StatusOr<Found> found = LookAt(position_);
  if (!found.ok()) return found.status();
  if (*found == Found::kEntry) return Accept(position_);
  if (*found == Found::kDamaged) return Search(position_ + 1);
  buffer_.clear();  // what comes behind may replace what was there
  return *found == Found::kNothing ? Step::kEnd : Step::kTail;
}

// kEntry: read on; from behind the header if that is intact, else position_ stays 0.
absl::StatusOr<SegmentReader::Step> SegmentReader::ReadSegmentHeader() {
  const absl::StatusOr<std::string_view> header = View(0, kSegmentHeaderSize);
  if (!header.ok()) return header.status();
  if (header->size() < kSegmentHeaderSize) {
    file_size_ = static_cast<int64_t>(header->size());
    const Step step = header->empty() ? Step::kEnd : Step::kTail;
    buffer_.clear();
    return step;
  }
  uint32_t version = 0;
  uint32_t checksum = 0;
  std::memcpy(&version, header->data() + 8, sizeof(version));
  std::memcpy(&checksum, header->data() + 12, sizeof(checksum));
  if (!header->starts_with(kMagic) || checksum != SegmentHeaderChecksum(*header))
    return Step::kEntry;
  if (version != kSegmentVersion) {
    return absl::FailedPreconditionError(
        fmt::format("{} has format version {}, this program reads {}: use the version of eroica "
                    "that recorded it",
                    path(), version, kSegmentVersion));
  }
  position_ = kSegmentHeaderSize;
  return Step::kEntry;
}

// Damaged bytes lie at position_: looks for the next entry at or after `from`.
absl::StatusOr<SegmentReader::Step> SegmentReader::Search(int64_t from) {
  while (true) {
    const absl::StatusOr<std::string_view> bytes = View(from, std::max(window_, kEntryHeaderSize));
    if (!bytes.ok()) return bytes.status();
    const size_t marker = FindSyncMarker(*bytes, 0);
    if (marker == std::string_view::npos) {
      if (bytes->size() < kEntryHeaderSize) break;      // the end of the file
      from += static_cast<int64_t>(bytes->size()) - 3;  // a marker may lie across
      continue;
    }
    from += static_cast<int64_t>(marker);
    const absl::StatusOr<Found> found = LookAt(from);
    if (!found.ok()) return found.status();
    if (*found == Found::kEntry) return Accept(from);
    if (*found != Found::kDamaged) break;
    ++from;
  }
  const absl::StatusOr<int64_t> size = file_.Size();
  if (!size.ok()) return size.status();
  file_size_ = *size;
  buffer_.clear();
  return Step::kTail;
}

// What lies at the position; an entry's header goes to header_.
absl::StatusOr<SegmentReader::Found> SegmentReader::LookAt(int64_t position) {
  const absl::StatusOr<std::string_view> bytes = View(position, kEntryHeaderSize);
  if (!bytes.ok()) return bytes.status();
  if (bytes->size() < kEntryHeaderSize) {
    file_size_ = position + static_cast<int64_t>(bytes->size());
    return bytes->empty() ? Found::kNothing : Found::kIncomplete;
  }
  const std::optional<EntryHeader> header = DecodeEntryHeader(*bytes);
  if (!header || header->offset < next_offset_) return Found::kDamaged;
  const int64_t end = position + static_cast<int64_t>(kEntryHeaderSize) + header->body_size;
  if (end > file_size_) {
    const absl::StatusOr<int64_t> size = file_.Size();
    if (!size.ok()) return size.status();
    file_size_ = *size;
    if (end > file_size_) return Found::kIncomplete;
  }
  header_ = *header;
  return Found::kEntry;
}

SegmentReader::Step SegmentReader::Accept(int64_t position) {
  damaged_before_ = position - position_;
  entry_position_ = position;
  position_ = position + static_cast<int64_t>(kEntryHeaderSize) + header_.body_size;
  next_offset_ = header_.offset + 1;
  return Step::kEntry;
}

absl::StatusOr<std::string_view> SegmentReader::ReadBody() {
  return View(entry_position_ + static_cast<int64_t>(kEntryHeaderSize), header_.body_size);
}

// `size` bytes at the position, fewer at the end of the file. Reads a window at once and keeps what
// it has of it.
absl::StatusOr<std::string_view> SegmentReader::View(int64_t position, size_t size) {
  const int64_t buffer_end = buffer_position_ + static_cast<int64_t>(buffer_.size());
  if (position < buffer_position_ || position + static_cast<int64_t>(size) > buffer_end) {
    const bool overlaps = position >= buffer_position_ && position < buffer_end;
    buffer_.erase(0, overlaps ? static_cast<size_t>(position - buffer_position_) : buffer_.size());
    buffer_position_ = position;
    const size_t kept = buffer_.size();
    // Whoever follows a file that grows finds a little each time: no room is made, and cleared, for
    // a window that is not there.
    const absl::StatusOr<int64_t> end = file_.Size();
    if (!end.ok()) return end.status();
    const auto there = static_cast<size_t>(std::max<int64_t>(*end - position, 0));
    buffer_.resize(std::max(kept, std::min(std::max(size, window_), there)));
    const absl::StatusOr<size_t> count = file_.ReadAt(position + static_cast<int64_t>(kept),
                                                      buffer_.size() - kept, buffer_.data() + kept);
    buffer_.resize(kept + (count.ok() ? *count : 0));
    if (!count.ok()) return count.status();
  }
  return std::string_view(buffer_).substr(static_cast<size_t>(position - buffer_position_), size);
}

}  // namespace eroica
