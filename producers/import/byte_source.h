// The bytes of an input file, plain or gzip, read forward in pieces: memory does not grow with the
// file. One owner, one thread.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace eroica {

class ByteSource {
 public:
  // Gzip is told by its two magic bytes, not by the file's name. A missing, unreadable or
  // non-regular file is an error.
  static absl::StatusOr<std::unique_ptr<ByteSource>> Open(const std::filesystem::path& path);
  virtual ~ByteSource() = default;

  // Up to `size` bytes of content; 0 at the end, which damage() tells from a premature end.
  virtual size_t Read(char* out, size_t size) = 0;

  uint64_t file_bytes_read() const {
    return file_bytes_read_;
  }  // of the file as it lies on disk, for progress
  // Empty, or one sentence on why the content ended early (cut off, corrupt, unreadable). What was
  // read before it is sound.
  const std::string& damage() const { return damage_; }

 protected:
  uint64_t file_bytes_read_ = 0;
  std::string damage_;
};

}  // namespace eroica
