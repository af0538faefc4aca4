#include "stream_ops/recording/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "schemas/file_access.h"

namespace eroica {
namespace {

constexpr std::string_view kUnfinished = ".tmp";

}  // namespace

absl::Status FileError(int error, std::string_view action, std::string_view path) {
  const std::string what = fmt::format("cannot {} {}: {}", action, path, std::strerror(error));
  switch (error) {
    case ENOENT: return absl::NotFoundError(what);
    case EEXIST: return absl::AlreadyExistsError(what);
    case ENOSPC:
    case EDQUOT:
      return absl::FailedPreconditionError(
          what + ": free some space, or record to another disk; writing goes on by itself then");
    case EFBIG:
      return absl::FailedPreconditionError(
          what + ": raise the limit on file sizes (ulimit -f), or make the segments smaller");
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(
          what + ": choose a folder that this user may write to, or change its permissions");
    case ENOTDIR:
      return absl::FailedPreconditionError(what +
                                           ": a part of the path is a file; choose another folder");
    case EMFILE:
    case ENFILE:
      return absl::FailedPreconditionError(
          what + ": raise the limit on open files (ulimit -n), or use fewer partitions");
    case EISDIR:
    case ENXIO:
      return absl::FailedPreconditionError(
          fmt::format("cannot {} {}: {}; remove it, or name another folder", action, path,
                      OpenErrorText(error)));
    case ELOOP:
      return absl::FailedPreconditionError(
          what + ": its links lead nowhere; remove them, or name another folder");
    case EINVAL: return absl::InvalidArgumentError(what);
    default: return absl::InternalError(what + ": check the disk (dmesg)");
  }
}

absl::StatusOr<File> File::Open(std::string path, int flags) {
  const int fd =
      (flags & O_DIRECTORY) != 0 ? ::open(path.c_str(), flags | O_CLOEXEC) : OpenFile(path, flags);
  if (fd < 0) return FileError(errno, (flags & O_CREAT) != 0 ? "create" : "open", path);
  return File(fd, std::move(path));
}

File::File(File&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

absl::StatusOr<int64_t> File::Size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return FileError(errno, "look at", path_);
  return info.st_size;
}

absl::StatusOr<size_t> File::ReadAt(int64_t position, size_t size, char* out) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t count =
        ::pread(fd_, out + done, size - done, position + static_cast<int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, "read", path_);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

absl::Status File::WriteAt(int64_t position, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd_, bytes.data(), bytes.size(), position);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(errno, "write", path_);
    position += count;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status File::Truncate(int64_t size) {
  if (::ftruncate(fd_, size) != 0) return FileError(errno, "truncate", path_);
  return absl::OkStatus();
}

absl::Status File::SyncData() {
  if (::fdatasync(fd_) != 0) return FileError(errno, "sync", path_);
  return absl::OkStatus();
}

// Locks of the open file description: two openings within one process exclude each other too, and
// the lock can be asked for without taking it.
absl::StatusOr<bool> File::TryLock() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd_, F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return FileError(errno, "lock", path_);
}

bool File::IsLocked() const {
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(fd_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

absl::Status MakeDirectories(const std::string& path) {
  const std::error_code error = MakeFolders(path);
  return error ? FileError(error.value(), "create folder", path) : absl::OkStatus();
}

absl::Status CheckDirectory(const std::string& path) {
  const absl::StatusOr<File> directory = File::Open(path, O_RDONLY | O_DIRECTORY);
  return directory.status();
}

absl::Status SyncDirectory(const std::string& path) {
  absl::StatusOr<File> directory = File::Open(path, O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return directory.status();
  return directory->SyncData();
}

absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path) {
  std::vector<std::string> names;
  const auto close = [](DIR* directory) { ::closedir(directory); };
  const std::unique_ptr<DIR, decltype(close)> directory(::opendir(path.c_str()), close);
  if (directory == nullptr) {
    if (errno == ENOENT) return names;
    return FileError(errno, "list", path);
  }
  while (const dirent* entry = ::readdir(directory.get())) names.emplace_back(entry->d_name);
  return names;
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view bytes) {
  // A name of its own for every attempt, so that two writers never share a half-written file.
  static std::atomic<uint64_t> attempts{0};
  const std::string temporary =
      fmt::format("{}.{}.{}{}", path, ::getpid(), attempts.fetch_add(1), kUnfinished);
  absl::StatusOr<File> file = File::Open(temporary, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file.ok()) return file.status();
  absl::Status status = file->WriteAt(0, bytes);
  if (status.ok()) status = file->SyncData();
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0)
    status = FileError(errno, "replace", path);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

absl::Status RemoveUnfinishedWrites(const std::string& path) {
  const std::filesystem::path file(path);
  const absl::StatusOr<std::vector<std::string>> names = ListDirectory(file.parent_path().string());
  if (!names.ok()) return names.status();
  const std::string prefix = file.filename().string() + ".";
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix) || !name.ends_with(kUnfinished)) continue;
    const std::string unfinished = (file.parent_path() / name).string();
    if (::unlink(unfinished.c_str()) != 0 && errno != ENOENT)
      return FileError(errno, "delete", unfinished);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  absl::StatusOr<File> file = File::Open(path, O_RDONLY);
  if (!file.ok()) return file.status();
  const absl::StatusOr<int64_t> size = file->Size();
  if (!size.ok()) return size.status();
  if (*size > kWholeFileBytesMax)
    return absl::FailedPreconditionError(fmt::format(
        "{} has {} bytes, more than the {} that such a file may have: restore it from a "
        "copy, or remove it",
        path, *size, kWholeFileBytesMax));
  std::string bytes(static_cast<size_t>(*size), '\0');
  const absl::StatusOr<size_t> count = file->ReadAt(0, bytes.size(), bytes.data());
  if (!count.ok()) return count.status();
  bytes.resize(*count);
  return bytes;
}

}  // namespace eroica
