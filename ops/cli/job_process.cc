#include "ops/cli/job_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>

namespace eroica {
namespace {

std::atomic<pid_t> job = 0;
std::atomic<pid_t> ended_by_signals = 0;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
std::atomic<int64_t> told_to_end_ns{kNever};
static_assert(std::atomic<int64_t>::is_always_lock_free);
static_assert(std::atomic<pid_t>::is_always_lock_free);

// What a terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z) goes to the whole process group, the job has it
// already.
constexpr int kFromTerminal[] = {SIGINT, SIGQUIT};
constexpr int kForwarded[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};

// Signal-safe: clock_gettime(2) is.
void NoteThatToldToEnd(int number) {
  if (number != SIGTERM && number != SIGHUP && number != SIGINT && number != SIGQUIT) return;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  int64_t never = kNever;
  told_to_end_ns.compare_exchange_strong(never, now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec);
}

extern "C" void Forward(int number, siginfo_t*, void*) {
  const int before = errno;
  NoteThatToldToEnd(number);
  const pid_t pid = job.load(std::memory_order_relaxed);
  if (pid > 0) ::kill(pid, number);
  errno = before;
}

// Sent by a person to this process alone: then the job has not had it.
extern "C" void ForwardUnlessFromTerminal(int number, siginfo_t* info, void* context) {
  NoteThatToldToEnd(number);
  if (info->si_code == SI_USER || info->si_code == SI_QUEUE) Forward(number, info, context);
}

extern "C" void EndProcess(int, siginfo_t*, void*) {
  const int before = errno;
  if (const pid_t pid = ended_by_signals.load(std::memory_order_relaxed); pid > 0)
    ::kill(pid, SIGKILL);
  errno = before;
}

void Handle(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESTART);
  ::sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

// A signal that comes between the start of the job and the handlers would end this process and
// leave the job behind alone: it waits until there is somebody to forward it to.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t held;
    ::sigemptyset(&held);
    for (const int number : kForwarded) ::sigaddset(&held, number);
    for (const int number : kFromTerminal) ::sigaddset(&held, number);
    ::sigprocmask(SIG_BLOCK, &held, &before_);
  }
  ~SignalsHeld() { Release(); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
  void Release() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Returns only where it fails: errno.
int Execute(const std::vector<std::string>& command,
            const std::map<std::string, std::string>& variables) {
  std::vector<std::string> words = command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  ::execvp(argv[0], argv.data());
  return errno;
}

absl::Status CannotRunIt(int code, const std::vector<std::string>& command) {
  return absl::ErrnoToStatus(code, fmt::format("cannot run {}", command[0]));
}

absl::Status NoOtherProcess(int code) {
  return absl::AbortedError(fmt::format("cannot start a process: {}", std::strerror(code)));
}

}  // namespace

absl::StatusOr<JobProcess> JobProcess::Start(const std::vector<std::string>& command,
                                             const std::map<std::string, std::string>& variables) {
  int failed[2];
  if (::pipe2(failed, O_CLOEXEC) != 0) return NoOtherProcess(errno);
  const SignalsHeld held;
  const pid_t pid = ::fork();
  if (pid < 0) {
    const int code = errno;
    ::close(failed[0]);
    ::close(failed[1]);
    return NoOtherProcess(code);
  }
  if (pid == 0) {
    held.Release();
    const int code = Execute(command, variables);
    [[maybe_unused]] const ssize_t written = ::write(failed[1], &code, sizeof(code));
    ::_exit(127);
  }
  ::close(failed[1]);
  int code = 0;
  const bool started = ::read(failed[0], &code, sizeof(code)) == 0;
  ::close(failed[0]);
  if (!started) {
    ::waitpid(pid, nullptr, 0);
    return CannotRunIt(code, command);
  }
  job.store(pid);
  for (const int number : kForwarded) Handle(number, Forward);
  for (const int number : kFromTerminal) Handle(number, ForwardUnlessFromTerminal);
  // What this process says has nobody to read it, and that is no reason to end otherwise than the
  // job.
  ::signal(SIGPIPE, SIG_IGN);
  return JobProcess(pid);
}

int64_t JobProcess::told_to_end_ns() { return eroica::told_to_end_ns.load(); }

int JobProcess::Wait() {
  // The number is the job's until it is waited for: no signal may go to whoever has it next.
  siginfo_t ended;
  while (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  job.store(0);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

absl::Status BecomeJob(const std::vector<std::string>& command,
                       const std::map<std::string, std::string>& variables) {
  return CannotRunIt(Execute(command, variables), command);
}

void SignalsEnd(pid_t process) {
  ended_by_signals.store(process);
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) Handle(number, EndProcess);
}

void ExitAs(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::signal(WTERMSIG(wait_status), SIG_DFL);
    ::raise(WTERMSIG(wait_status));
    std::_Exit(128 + WTERMSIG(wait_status));
  }
  std::exit(WEXITSTATUS(wait_status));
}

}  // namespace eroica
