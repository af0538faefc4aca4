#include "producers/host/host_election.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace eroica {
namespace {

constexpr int64_t kTryNs = 5'000'000'000;

}  // namespace

HostElection::~HostElection() {
  if (fd_ >= 0 && IsOurs()) close(fd_);
}

bool HostElection::Holds(int64_t now_ns) {
  if (tried_ && now_ns - tried_ns_ < kTryNs) return holds_;
  tried_ = true;
  tried_ns_ = now_ns;
  return holds_ = !path_.empty() && Try();
}

bool HostElection::Try() {
  struct stat there {};
  const bool same =
      fd_ >= 0 && IsOurs() && stat(path_.c_str(), &there) == 0 && there.st_ino == inode_;
  if (fd_ >= 0 && !same) {  // closed by the host process, or somebody cleared the folder
    if (IsOurs()) close(fd_);
    fd_ = -1;
  }
  if (fd_ < 0) {
    fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat status {};
    if (fd_ < 0) return false;
    if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
      close(fd_);
      fd_ = -1;
      return false;
    }
    inode_ = status.st_ino;
    device_ = status.st_dev;
  }
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd_, F_SETLK, &lock) == 0;
}

bool HostElection::IsOurs() const {
  struct stat status {};
  return fstat(fd_, &status) == 0 && status.st_ino == inode_ && status.st_dev == device_;
}

}  // namespace eroica
