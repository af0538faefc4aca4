#include "schemas/file_access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOwner = S_IRWXU;
constexpr mode_t kGroup = S_IRWXG;
constexpr mode_t kExecute = S_IXUSR | S_IXGRP | S_IXOTH;

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// What the folder's group may do with what is made in it; 0 where the folder is not shared.
mode_t SharedRights(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0 || (status.st_mode & S_ISGID) == 0) return 0;
  return status.st_mode & kGroup;
}

int CreateFile(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags, S_IRUSR | S_IWUSR);
  if (fd < 0) return fd;
  // The umask would take from the group what the folder gives it. A file that another user has made
  // in the meantime keeps its mode.
  const mode_t shared = SharedRights(FolderOf(path)) & ~kExecute;
  if (shared != 0) static_cast<void>(::fchmod(fd, S_IRUSR | S_IWUSR | shared));
  return fd;
}

// 0 where it is a regular file.
int ErrorOfKind(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return errno;
  if (S_ISREG(status.st_mode)) return 0;
  return S_ISDIR(status.st_mode) ? EISDIR : ENXIO;
}

}  // namespace

int OpenFile(const std::string& path, int flags) {
  const int quick = (flags & ~O_CREAT) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  int fd = (flags & O_EXCL) != 0 ? -1 : ::open(path.c_str(), quick);
  if (fd < 0 && (flags & O_CREAT) != 0 && ((flags & O_EXCL) != 0 || errno == ENOENT))
    fd = CreateFile(path, quick | O_CREAT);
  if (fd < 0) return fd;
  const int error = ErrorOfKind(fd);
  if (error == 0) return fd;
  ::close(fd);
  errno = error;
  return -1;
}

std::optional<std::string> ReadFile(const std::string& path, size_t bytes_max) {
  const int fd = OpenFile(path, O_RDONLY);
  if (fd < 0) return std::nullopt;
  std::string bytes;
  std::array<char, 4096> block;
  ssize_t count = 0;
  do {
    count = ::read(fd, block.data(), block.size());
    if (count > 0) bytes.append(block.data(), static_cast<size_t>(count));
  } while ((count > 0 && bytes.size() <= bytes_max) || (count < 0 && errno == EINTR));
  const int error = count < 0 ? errno : bytes.size() > bytes_max ? EFBIG : 0;
  ::close(fd);
  if (error == 0) return bytes;
  errno = error;
  return std::nullopt;
}

std::string OpenErrorText(int error) {
  switch (error) {
    case EISDIR: return "it is a folder, not a file";
    case ENXIO: return "it is a pipe, a socket or a device, not a file";
    default: return std::strerror(error);
  }
}

std::error_code MakeFolder(const std::string& path, bool* made) {
  *made = false;
  std::error_code error;
  const mode_t shared = SharedRights(FolderOf(path));
  if (::mkdir(path.c_str(), kOwner | shared) != 0) {
    const int failed = errno;
    if (failed == EEXIST && fs::is_directory(path, error)) return {};
    return {failed == EEXIST ? ENOTDIR : failed, std::generic_category()};
  }
  *made = true;
  // The umask has taken from the group what the folder above gives it. A service that may not set
  // the bit (RestrictSUIDSGID=) keeps what mkdir has made of it.
  if (shared != 0) static_cast<void>(::chmod(path.c_str(), S_ISGID | kOwner | shared));
  return {};
}

std::error_code MakeFolders(const std::string& path) {
  std::error_code error;
  if (path.empty() || fs::is_directory(path, error)) return {};
  if (error = MakeFolders(fs::path(path).parent_path().string()); error) return error;
  if (!fs::path(path).has_filename()) return {};  // "folder/": its parent is the folder itself
  bool made = false;
  return MakeFolder(path, &made);
}

bool OthersMayRead(const std::string& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return false;
  const mode_t group = (status.st_mode & S_ISGID) != 0 ? 0 : kGroup;
  return (status.st_mode & (group | S_IRWXO)) != 0;
}

}  // namespace eroica
