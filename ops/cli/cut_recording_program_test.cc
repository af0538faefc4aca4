// Recordings that are cut off, or that hold what is no file: what each command says of them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CutRecordingProgramTest : public ::testing::Test {
 protected:
  CutRecordingProgramTest() {
    fs::copy(kFaultyRecording, recording(), fs::copy_options::recursive);
  }

  std::string recording() const { return folder_.path() + "/recording"; }
  std::string state() const { return folder_.path() + "/state"; }
  std::string segment() const {
    return recording() + "/eroica.events/0/00000000000000000000.segment";
  }
  void Cut(uint64_t bytes = 10) const {
    fs::resize_file(segment(), fs::file_size(segment()) - bytes);
  }
  ProgramRun Drain(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {
        "node",  "--recording", recording(), "--state",
        state(), "--drain",     "--set",     "summarize.out_of_orderness_ms=1000"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(arguments);
  }
  static auto SaysWhatIsLost() {
    return AllOf(HasSubstr("00000000000000000000.segment of eroica.events/0 ends within an entry, "
                           "at byte "),
                 HasSubstr("the last entry is lost"));
  }

  const ScratchDirectory folder_;
};

TEST_F(CutRecordingProgramTest, ADrainSaysWhatIsLostAndEndsWithThree) {
  EXPECT_THAT(Drain().err, Not(HasSubstr("lost")));
  fs::remove_all(state());
  Cut();
  const ProgramRun run = Drain();
  EXPECT_EQ(run.exit_code, kExitCannotTell) << run.err;
  EXPECT_THAT(run.err, SaysWhatIsLost());
  fs::remove_all(state());
  const ProgramRun json = Drain({"--json"});
  EXPECT_EQ(json.exit_code, kExitCannotTell);
  EXPECT_THAT(nlohmann::json::parse(json.out).at("lost").at(0).get<std::string>(),
              SaysWhatIsLost());
}

TEST_F(CutRecordingProgramTest, DamageInTheMiddleIsLostToo) {
  std::string bytes = ReadBytes(segment());
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  WriteBytes(segment(), bytes);
  const ProgramRun run = Drain();
  EXPECT_EQ(run.exit_code, kExitCannotTell) << run.err;
  EXPECT_THAT(run.err, HasSubstr("bytes of the input are damaged"));
}

TEST_F(CutRecordingProgramTest, NothingFoundIsNotSaidOfIt) {
  fs::remove_all(recording());
  fs::copy("tests/golden/live/healthy", recording(), fs::copy_options::recursive);
  const auto findings = [&] { return RunProgram({"findings", "--recording", recording()}); };
  const auto replay = [&](const char* id) {
    return RunProgram({"replay", "--recording", recording(), "--id", id, "--set",
                       "summarize.out_of_orderness_ms=1000", "-o", folder_.path() + "/" + id});
  };
  ASSERT_EQ(RunProgram({"node", "--recording", recording(), "--drain", "--set",
                        "summarize.out_of_orderness_ms=1000"})
                .exit_code,
            kExitNothingFound);
  EXPECT_EQ(findings().exit_code, kExitNothingFound);
  EXPECT_THAT(findings().out, HasSubstr("Nothing found"));
  EXPECT_EQ(replay("whole").exit_code, kExitNothingFound);
  Cut();
  const ProgramRun found = findings();
  EXPECT_EQ(found.exit_code, kExitCannotTell);
  EXPECT_THAT(found.out,
              AllOf(HasSubstr("the last entry is lost"), Not(HasSubstr("Nothing found"))));
  const ProgramRun replayed = replay("cut");
  EXPECT_EQ(replayed.exit_code, kExitCannotTell) << replayed.err;
  EXPECT_THAT(replayed.out,
              AllOf(SaysWhatIsLost(), HasSubstr("cannot tell"), Not(HasSubstr("nothing found\n"))));
  EXPECT_THAT(RunProgram({"jobs", "--recording", recording()}).err, HasSubstr("warning: "));
}

TEST_F(CutRecordingProgramTest, ACopySaysWhatItsSourceHadLost) {
  Cut();
  const std::string copy = folder_.path() + "/copy";
  const ProgramRun run = RunProgram({"record", "--recording", recording(), "-o", copy});
  EXPECT_EQ(run.exit_code, kExitCannotTell) << run.err;
  EXPECT_THAT(run.err, SaysWhatIsLost());
  const ProgramRun verify = RunProgram({"record", "--verify", copy});
  EXPECT_EQ(verify.exit_code, kExitCannotTell) << verify.err;
  EXPECT_THAT(verify.err, SaysWhatIsLost());
}

TEST_F(CutRecordingProgramTest, VerifyNamesTheCutAndBytesBehindTheLastEntry) {
  const std::string copy = folder_.path() + "/copy";
  ASSERT_EQ(RunProgram({"record", "--recording", recording(), "-o", copy}).exit_code,
            kExitNothingFound);
  const std::string file = copy + "/eroica.events/0/00000000000000000000.segment";
  const std::string whole = ReadBytes(file);
  for (const std::string& bytes : {whole.substr(0, whole.size() - 10), whole + "behind"}) {
    WriteBytes(file, bytes);
    const ProgramRun verify = RunProgram({"record", "--verify", copy});
    EXPECT_EQ(verify.exit_code, kExitError);
    EXPECT_THAT(verify.err, SaysWhatIsLost());
  }
}

TEST_F(CutRecordingProgramTest, APipeForASegmentEndsEachCommand) {
  fs::remove(segment());
  ASSERT_EQ(::mkfifo(segment().c_str(), 0600), 0);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"node", "--recording", recording(), "--state", state(), "--drain"},
        {"node", "--recording", recording(), "--state", state()},
        {"replay", "--recording", recording(), "-o", folder_.path() + "/replay"},
        {"record", "--recording", recording(), "-o", folder_.path() + "/copy"}}) {
    const ProgramRun run = RunProgram(arguments);
    EXPECT_EQ(run.exit_code, kExitError) << arguments[0];
    EXPECT_THAT(run.err, AllOf(HasSubstr(segment()), HasSubstr("it is a pipe")));
  }
}

TEST_F(CutRecordingProgramTest, AConfigurationMayComeFromAPipe) {
  const std::string pipe = folder_.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  // Both ends, so that the program's opening finds a writer.
  const int both = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(both, 0);
  const std::string text = "[runtime]\nidle_timeout_ms = 777\n";
  ASSERT_EQ(::write(both, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  Program program({"node", "--config", pipe, "--print-config"});
  // What was written is taken: the end may come.
  ASSERT_TRUE(Await([&] {
    int waiting = 0;
    return ::ioctl(both, FIONREAD, &waiting) == 0 && waiting == 0;
  }));
  ::close(both);
  const ProgramRun run = program.Wait();
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.out, HasSubstr("idle_timeout_ms = 777"));
}

TEST_F(CutRecordingProgramTest, StateAndCopiesAreTheirOwnersAlone) {
  const mode_t before = ::umask(0);
  const ProgramRun drained = Drain();
  const std::string copy = folder_.path() + "/copy";
  const ProgramRun copied = RunProgram({"record", "--recording", recording(), "-o", copy});
  ::umask(before);
  ASSERT_EQ(copied.exit_code, kExitNothingFound) << copied.err << drained.err;
  int files = 0;
  for (const std::string& made : {state(), copy}) {
    EXPECT_EQ(fs::status(made).permissions(), fs::perms::owner_all);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(made)) {
      ++files;
      EXPECT_EQ(entry.status().permissions(), entry.is_directory()
                                                  ? fs::perms::owner_all
                                                  : fs::perms::owner_read | fs::perms::owner_write)
          << entry.path();
    }
  }
  EXPECT_GT(files, 10);
}

TEST_F(CutRecordingProgramTest, AFolderThatOthersMayReadIsNamed) {
  ASSERT_EQ(::chmod(recording().c_str(), 0755), 0);
  EXPECT_THAT(Drain().err, AllOf(HasSubstr("others may read"), HasSubstr(recording())));
  ASSERT_EQ(::chmod(recording().c_str(), 0700), 0);
  EXPECT_THAT(Drain().err, Not(HasSubstr("others may read")));
}

}  // namespace
}  // namespace eroica
