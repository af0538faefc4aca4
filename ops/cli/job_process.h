// The training job under `eroica run`: a child process that inherits input, output and terminal,
// gets every signal that this process gets, and ends as it ends. Owner: the main thread, before it
// starts any other.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace eroica {

class JobProcess {
 public:
  // variables: set in the child beside what this process has. kNotFound: there is no such program;
  // kAborted: this process can have no other (a limit of processes or of open files).
  static absl::StatusOr<JobProcess> Start(const std::vector<std::string>& command,
                                          const std::map<std::string, std::string>& variables);

  // Waits for its end and forwards signals meanwhile. The status of waitpid.
  int Wait();
  // When this process was first told to end by a signal, wall clock; the largest number: never.
  static int64_t told_to_end_ns();
  pid_t pid() const { return pid_; }

 private:
  explicit JobProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

// Replaces this process by the job. Returns only where that fails: kNotFound, or another error.
absl::Status BecomeJob(const std::vector<std::string>& command,
                       const std::map<std::string, std::string>& variables);

// From here on, SIGINT, SIGQUIT, SIGTERM and SIGHUP kill that process instead of going to the job.
// 0: nothing.
void SignalsEnd(pid_t process);

// Ends this process as the child ended: with its exit code, or by its signal (without a second core
// dump).
[[noreturn]] void ExitAs(int wait_status);

}  // namespace eroica
