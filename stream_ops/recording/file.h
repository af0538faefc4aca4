// A file descriptor and what the recording does with it; errors say which file, what failed and
// what to do.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

// errno as a Status. action: what was tried, e.g. "write".
absl::Status FileError(int error, std::string_view action, std::string_view path);

class File {
 public:
  // flags: those of open(2). As OpenFile (file_access.h): kFailedPrecondition for what is no
  // regular file, at once; what is made is private.
  static absl::StatusOr<File> Open(std::string path, int flags);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& path() const { return path_; }
  absl::StatusOr<int64_t> Size() const;
  // Up to `size` bytes at `position`; fewer only at the end of the file.
  absl::StatusOr<size_t> ReadAt(int64_t position, size_t size, char* out) const;
  // All of it, or an error (part of it may be written then).
  absl::Status WriteAt(int64_t position, std::string_view bytes);
  absl::Status Truncate(int64_t size);
  absl::Status SyncData();
  // The whole file, for writing, until it is closed; false: someone else holds it, in this process
  // or another.
  absl::StatusOr<bool> TryLock();
  // Whether anyone else holds it.
  bool IsLocked() const;

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_ = -1;
  std::string path_;
};

// Makes the directory and those above it, as MakeFolders does.
absl::Status MakeDirectories(const std::string& path);
// kNotFound or kFailedPrecondition where it is none.
absl::Status CheckDirectory(const std::string& path);
// So that names made or renamed in it survive a crash of the machine.
absl::Status SyncDirectory(const std::string& path);
// Names in the directory; nothing where it does not exist.
absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path);
// Replaces the file at once: readers see the old bytes or the new ones.
absl::Status WriteFileAtomically(const std::string& path, std::string_view bytes);
// What writers of this file have left that died while they replaced it. Nobody may be writing it.
absl::Status RemoveUnfinishedWrites(const std::string& path);
// Of a small file, such as a manifest. kNotFound where there is none; kFailedPrecondition beyond
// kWholeFileBytesMax.
inline constexpr int64_t kWholeFileBytesMax = int64_t{256} << 20;
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

}  // namespace eroica
