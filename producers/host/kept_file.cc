#include "producers/host/kept_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace eroica {
namespace {

constexpr int64_t kRetryNs = 10'000'000'000;

}  // namespace

KeptFile::KeptFile(KeptFile&& other) noexcept { *this = std::move(other); }

KeptFile& KeptFile::operator=(KeptFile&& other) noexcept {
  if (this == &other) return *this;
  Close();
  path_ = std::move(other.path_);
  fd_ = std::exchange(other.fd_, -1);
  device_ = other.device_;
  inode_ = other.inode_;
  ended_ = other.ended_;
  tried_ = other.tried_;
  tried_ns_ = other.tried_ns_;
  return *this;
}

std::string_view KeptFile::Read(std::span<char> into, int64_t now_ns) {
  if (fd_ >= 0 && !IsOurs()) fd_ = -1;  // somebody else's by now: not ours to close
  if (fd_ < 0 && !Open(now_ns)) return {};
  const ssize_t length = pread(fd_, into.data(), into.size(), 0);
  if (length > 0) return {into.data(), static_cast<size_t>(length)};
  ended_ = length < 0 && errno == ESRCH;
  Close();
  return {};
}

bool KeptFile::Open(int64_t now_ns) {
  if (tried_ && now_ns - tried_ns_ < kRetryNs) return false;
  tried_ = true;
  tried_ns_ = now_ns;
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd_ < 0) return false;
  struct stat status {};
  if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd_);
    fd_ = -1;
    return false;
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return true;
}

bool KeptFile::IsOurs() const {
  struct stat status {};
  return fstat(fd_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

void KeptFile::Close() {
  if (fd_ >= 0 && IsOurs()) close(fd_);
  fd_ = -1;
}

}  // namespace eroica
