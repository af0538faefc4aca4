#include "ops/cli/unfinished_mark.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "ops/config/text_file.h"
#include "schemas/file_access.h"

namespace eroica {
namespace {

std::string PathIn(const std::string& folder) { return folder + "/unfinished"; }

}  // namespace

absl::StatusOr<UnfinishedMark> UnfinishedMark::Set(const std::string& folder,
                                                   const std::string& command) {
  const std::string path = PathIn(folder);
  bool is_ours = true;
  int fd = OpenFile(path, O_WRONLY | O_CREAT | O_EXCL);
  if (fd < 0 && errno == EEXIST) {
    is_ours = false;
    fd = OpenFile(path, O_WRONLY);
  }
  if (fd < 0)
    return absl::FailedPreconditionError(
        fmt::format("cannot write {}: {}", path, OpenErrorText(errno)));
  UnfinishedMark mark(path, fd, is_ours);
  ::flock(fd, LOCK_SH | LOCK_NB);
  if (is_ours && ::write(fd, command.data(), command.size()) < 0)
    return absl::ErrnoToStatus(errno, fmt::format("cannot write {}", path));
  return mark;
}

UnfinishedMark::UnfinishedMark(UnfinishedMark&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), is_ours_(other.is_ours_) {}

UnfinishedMark::~UnfinishedMark() {
  if (fd_ >= 0) ::close(fd_);
}

absl::Status UnfinishedMark::Remove() {
  if (is_ours_ && ::unlink(path_.c_str()) != 0)
    return absl::ErrnoToStatus(errno, fmt::format("cannot remove {}", path_));
  return absl::OkStatus();
}

std::string InterruptedWriting(const std::string& folder) {
  const std::string path = PathIn(folder);
  const int fd = OpenFile(path, O_RDONLY);
  if (fd < 0) return "";
  const bool is_being_written = ::flock(fd, LOCK_EX | LOCK_NB) != 0;
  ::close(fd);
  if (is_being_written) return "";
  const absl::StatusOr<std::string> command = ReadTextFile(path);
  return fmt::format(
      "{} is not whole: `{}` that wrote it was interrupted; remove the folder and "
      "write it anew",
      folder, command.ok() ? *command : "the command");
}

}  // namespace eroica
