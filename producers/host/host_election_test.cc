#include "producers/host/host_election.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "producers/host/testing/made_up_files.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

// Another process that holds the lock, and a child of its own that was forked afterwards and lives
// on.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    std::array<int, 2> said{};
    EXPECT_EQ(pipe(said.data()), 0);
    EXPECT_EQ(pipe(alive_.data()), 0);
    process_ = fork();
    if (process_ == 0) {
      close(alive_[1]);
      HostElection election(path);
      const char holds = election.Holds(kNsPerSecond) ? 'y' : 'n';
      if (fork() == 0) WaitForTheEnd();
      if (write(said[1], &holds, 1) != 1) _exit(1);
      WaitForTheEnd();
    }
    char answer = '?';
    EXPECT_EQ(read(said[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    close(said[0]);
    close(said[1]);
    close(alive_[0]);
  }
  ~Holder() { close(alive_[1]); }
  void Kill() const {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

 private:
  [[noreturn]] void WaitForTheEnd() const {
    char none = 0;
    while (read(alive_[0], &none, 1) > 0) {
    }
    _exit(0);
  }
  std::array<int, 2> alive_{};
  pid_t process_ = -1;
};

TEST(HostElection, OneHoldsUntilItDiesAndItsForkedChildrenDoNotKeepIt) {
  const MadeUpFiles files;
  const Holder holder(files.At("lock"));
  HostElection election(files.At("lock"));
  EXPECT_FALSE(election.Holds(kNsPerSecond));
  EXPECT_FALSE(election.Holds(10 * kNsPerSecond));
  holder.Kill();
  EXPECT_FALSE(election.Holds(11 * kNsPerSecond));  // not tried yet
  EXPECT_TRUE(election.Holds(20 * kNsPerSecond));
  EXPECT_TRUE(election.Holds(30 * kNsPerSecond));
}

TEST(HostElection, AFileThatWasRemovedIsMadeAgain) {
  const MadeUpFiles files;
  HostElection election(files.At("lock"));
  EXPECT_TRUE(election.Holds(kNsPerSecond));
  files.Remove("lock");
  EXPECT_TRUE(election.Holds(10 * kNsPerSecond));
  EXPECT_TRUE(std::filesystem::exists(files.At("lock")));
}

TEST(HostElection, NobodyIsElectedWithoutAPlace) {
  const MadeUpFiles files;
  EXPECT_FALSE(HostElection("").Holds(kNsPerSecond));
  EXPECT_FALSE(HostElection("/nowhere/lock").Holds(kNsPerSecond));
  EXPECT_FALSE(HostElection(files.path()).Holds(kNsPerSecond));
}

}  // namespace
}  // namespace eroica
