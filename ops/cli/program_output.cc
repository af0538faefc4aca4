#include "ops/cli/program_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace eroica {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kMostBytes = size_t{1} << 20;

[[noreturn]] void Become(std::vector<char*> argv,
                         const std::map<std::string, std::string>& variables, int out) {
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(nothing, STDERR_FILENO);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

// To its end. False: the deadline came first, or it says too much.
bool ReadAll(int fd, Clock::time_point deadline, std::string* text) {
  std::array<char, 4096> part;
  while (text->size() < kMostBytes) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
    pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = left <= 0 ? 0 : ::poll(&watched, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t length = ::read(fd, part.data(), part.size());
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return length == 0;
    text->append(part.data(), static_cast<size_t>(length));
  }
  return false;
}

}  // namespace

absl::StatusOr<std::string> OutputOf(const std::vector<std::string>& command,
                                     const std::map<std::string, std::string>& variables,
                                     milliseconds timeout) {
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int out[2];
  if (::pipe2(out, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  const pid_t pid = ::fork();
  if (pid == 0) Become(std::move(argv), variables, out[1]);
  ::close(out[1]);
  if (pid < 0) {
    ::close(out[0]);
    return absl::ErrnoToStatus(errno, "cannot start a process");
  }
  std::string text;
  const bool whole = ReadAll(out[0], Clock::now() + timeout, &text);
  ::close(out[0]);
  if (!whole) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!whole)
    return absl::DeadlineExceededError(
        fmt::format("{} did not answer within {} s", command[0], timeout.count() / 1'000));
  if (WIFSIGNALED(status))
    return absl::UnknownError(fmt::format("ended by signal {}", WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return absl::UnknownError(fmt::format("ended with {}", WEXITSTATUS(status)));
  return text;
}

}  // namespace eroica
