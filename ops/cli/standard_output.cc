#include "ops/cli/standard_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace eroica {

void HoldStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // Opened for the other direction, so that its use is an error.
    const int held = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (held >= 0 && held != fd) {
      ::dup2(held, fd);
      ::close(held);
    }
  }
}

StandardOutput::StandardOutput() {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  before_ = std::cout.rdbuf(this);
}

StandardOutput::~StandardOutput() {
  FlushBuffer();
  std::cout.rdbuf(before_);
}

absl::Status StandardOutput::Finish() {
  FlushBuffer();
  if (error_ == 0) return absl::OkStatus();
  if (error_ == EPIPE) {
    ::signal(SIGPIPE, SIG_DFL);
    ::raise(SIGPIPE);
  }
  return absl::DataLossError(fmt::format("cannot write to standard output: {}",
                                         error_ == EBADF ? "it is closed" : std::strerror(error_)));
}

int StandardOutput::overflow(int character) {
  if (!FlushBuffer()) return traits_type::eof();
  if (traits_type::eq_int_type(character, traits_type::eof())) return 0;
  *pptr() = traits_type::to_char_type(character);
  pbump(1);
  return character;
}

std::streamsize StandardOutput::xsputn(const char* text, std::streamsize length) {
  if (length > epptr() - pptr()) {
    if (!FlushBuffer()) return 0;
    if (length > epptr() - pptr()) return Write(text, static_cast<size_t>(length)) ? length : 0;
  }
  std::memcpy(pptr(), text, static_cast<size_t>(length));
  pbump(static_cast<int>(length));
  return length;
}

int StandardOutput::sync() { return FlushBuffer() ? 0 : -1; }

bool StandardOutput::FlushBuffer() {
  const auto length = static_cast<size_t>(pptr() - pbase());
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return Write(buffer_.data(), length);
}

bool StandardOutput::Write(const char* text, size_t length) {
  while (error_ == 0 && length > 0) {
    const ssize_t written = ::write(STDOUT_FILENO, text, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // somebody else has made the pipe non-blocking
      pollfd watched{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
      ::poll(&watched, 1, -1);
      continue;
    }
    if (written < 0) {
      error_ = errno;
      break;
    }
    text += written;
    length -= static_cast<size_t>(written);
  }
  return error_ == 0;
}

}  // namespace eroica
