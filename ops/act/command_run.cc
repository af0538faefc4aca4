#include "ops/act/command_run.h"

#include <absl/status/status.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "schemas/check.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentOf(const CommandOptions& options) {
  std::vector<std::string> environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin",
                                          "LANG=C.UTF-8"};
  for (const auto& [name, value] : options.variables) environment.push_back(name + "=" + value);
  return environment;
}

// Attributes of a child that is the first of a process group, with no signal blocked or ignored.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    EROICA_CHECK(::posix_spawnattr_init(&attributes_) == 0);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

absl::StatusOr<pid_t> Start(const CommandOptions& options, int output) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment = EnvironmentOf(options);
  posix_spawn_file_actions_t files;
  EROICA_CHECK(::posix_spawn_file_actions_init(&files) == 0);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  const SpawnAttributes attributes;
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, arguments.front().c_str(), &files, attributes.get(),
                                  Pointers(arguments).data(), Pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&files);
  if (error == 0) return pid;
  return absl::ErrnoToStatus(error, fmt::format("cannot start {}", arguments.front()));
}

void Keep(const char* bytes, size_t count, size_t bytes_max, CommandResult* result) {
  const size_t kept = std::min(count, bytes_max - std::min(bytes_max, result->output.size()));
  result->output.append(bytes, kept);
  result->bytes_left_out += count - kept;
}

// What it prints, until it closes its output or the time is over. False: it is over.
bool ReadOutput(int output, steady_clock::time_point deadline, size_t bytes_max,
                CommandResult* result) {
  std::array<char, 4'096> block;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd watched{.fd = output, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t count = ::read(output, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    Keep(block.data(), static_cast<size_t>(count), bytes_max, result);
  }
}

// Who closes its output may go on for a while.
bool WaitUntil(pid_t pid, steady_clock::time_point deadline, int* status) {
  constexpr milliseconds kLook{20};
  while (true) {
    const pid_t ended = ::waitpid(pid, status, WNOHANG);
    if (ended == pid) return true;
    if (ended < 0 && errno != EINTR) return true;
    if (steady_clock::now() >= deadline) return false;
    ::poll(nullptr, 0, static_cast<int>(kLook.count()));
  }
}

}  // namespace

absl::StatusOr<CommandResult> RunCommand(const CommandOptions& options) {
  if (options.arguments.empty()) return absl::InvalidArgumentError("the command has no program");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  const auto begun = steady_clock::now();
  const absl::StatusOr<pid_t> pid = Start(options, ends[1]);
  ::close(ends[1]);
  CommandResult result;
  if (!pid.ok()) {
    ::close(ends[0]);
    return pid.status();
  }
  const auto deadline = begun + options.timeout;
  int status = 0;
  result.timed_out = !ReadOutput(ends[0], deadline, options.output_bytes_max, &result) ||
                     !WaitUntil(*pid, deadline, &status);
  if (result.timed_out) {
    ::kill(-*pid, SIGKILL);
    while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(ends[0]);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begun);
  return result;
}

}  // namespace eroica
