#include "ops/config/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace eroica {
namespace {

constexpr size_t kBytesMax = size_t{1} << 20;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

absl::Status CannotRead(const std::string& path, int error) {
  return absl::NotFoundError(fmt::format("cannot read {}: {}", path, std::strerror(error)));
}

}  // namespace

// Opened without waiting: a pipe that nobody writes to would keep the caller for ever.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         std::chrono::milliseconds patience) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.fd() < 0) return CannotRead(path, errno);
  std::string text;
  std::array<char, 4096> block{};
  while (true) {
    pollfd readable{.fd = file.fd(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(patience.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0)
      return absl::DeadlineExceededError(
          fmt::format("nothing comes of {} for {} s: name a file, or a pipe that is written to",
                      path, std::chrono::duration<double>(patience).count()));
    const ssize_t count = ::read(file.fd(), block.data(), block.size());
    if (count == 0) return text;
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return CannotRead(path, errno);
    text.append(block.data(), static_cast<size_t>(count));
    if (text.size() > kBytesMax)
      return absl::InvalidArgumentError(fmt::format("{} is larger than one MiB", path));
  }
}

}  // namespace eroica
