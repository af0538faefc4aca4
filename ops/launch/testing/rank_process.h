// A process of a rank, for the tests: a child that holds the rank in the
// exchange folder, and ends as it is told.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "schemas/check.h"

namespace eroica {

class TestingProcess {
 public:
  // Returns when it holds the rank. Python is there wherever these tests run.
  TestingProcess(const std::string& folder, uint32_t rank, const std::string& script) {
    const std::string claim =
        "import os, signal, sys, time\n"
        "held = open(sys.argv[1] + '/rank-' + sys.argv[2] + '.lock', 'w')\n"
        "held.write(str(os.getpid()).ljust(24, '\\0'))\n"
        "held.flush()\n"
        "os.write(1, b'.')\n";
    const std::string number = std::to_string(rank);
    int claimed[2];
    EROICA_CHECK(::pipe2(claimed, O_CLOEXEC) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(claimed[1], STDOUT_FILENO);
      const std::string program = claim + script;
      ::execlp("python3", "python3", "-I", "-c", program.c_str(), folder.c_str(), number.c_str(),
               nullptr);
      ::_exit(127);
    }
    ::close(claimed[1]);
    char dot = 0;
    EROICA_CHECK(::read(claimed[0], &dot, 1) == 1);
    ::close(claimed[0]);
  }
  ~TestingProcess() {
    if (is_waited_for_) return;
    ::kill(pid_, SIGKILL);
    Wait();
  }
  TestingProcess(const TestingProcess&) = delete;
  TestingProcess& operator=(const TestingProcess&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int number) const { ::kill(pid_, number); }
  // As a launcher takes its status.
  int Wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    is_waited_for_ = true;
    return status;
  }

 private:
  pid_t pid_ = -1;
  bool is_waited_for_ = false;
};

}  // namespace eroica
