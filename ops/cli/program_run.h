// One run of the built program, for tests: what it printed where, and how it ended.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schemas/check.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {

// A recording of a job with a fault, in the repository.
inline constexpr const char* kFaultyRecording = "tests/golden/live/compute";

struct ProgramRun {
  int exit_code = -1;  // 128 + number of the signal that ended it
  std::string out;
  std::string err;
};

class Program {
 public:
  // Starts it; standard output and error go to files of this object.
  explicit Program(std::vector<std::string> arguments)
      : Program(EROICA_PROGRAM, std::move(arguments)) {}
  Program(const std::string& path, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), path);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, OutPath().c_str(), kFlags, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, ErrPath().c_str(), kFlags, 0600);
    EROICA_CHECK(posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Program() {
    if (pid_ != 0) {
      kill(pid_, SIGKILL);
      Wait();
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Signal(int number) const { EROICA_CHECK(kill(pid_, number) == 0); }
  std::string OutSoFar() const { return ReadBytes(OutPath()); }
  std::string ErrSoFar() const { return ReadBytes(ErrPath()); }
  ProgramRun Wait() {
    int status = 0;
    EROICA_CHECK(waitpid(pid_, &status, 0) == pid_);
    pid_ = 0;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), OutSoFar(),
            ErrSoFar()};
  }

 private:
  std::string OutPath() const { return files_.path() + "/out"; }
  std::string ErrPath() const { return files_.path() + "/err"; }

  ScratchDirectory files_;
  pid_t pid_ = 0;
};

inline ProgramRun RunProgram(std::vector<std::string> arguments) {
  return Program(std::move(arguments)).Wait();
}

// Until the condition holds; false after two minutes.
inline bool Await(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace eroica
