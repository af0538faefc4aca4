// The built program from outside: what a user types, sees and gets as exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(Program, HelpHasExamplesAndIsNoError) {
  const ProgramRun run = RunProgram({"--help"});
  EXPECT_EQ(run.exit_code, kExitNothingFound);
  EXPECT_THAT(run.out, HasSubstr("Examples:"));
  EXPECT_THAT(run.err, IsEmpty());
}

#if defined(EROICA_ALLOCATOR)
TEST(Program, GivesBackWhatItHasFreedThoughItIsIdle) {
  ASSERT_EQ(setenv("MALLOC_CONF", "stats_print:true", 1), 0);
  const ProgramRun run = RunProgram({"--version"});
  unsetenv("MALLOC_CONF");
  EXPECT_THAT(run.err, HasSubstr("opt.background_thread: true"));
}
#endif

TEST(Program, SaysItsVersion) { EXPECT_THAT(RunProgram({"--version"}).out, StartsWith("eroica ")); }

TEST(Program, WithoutACommandShowsHelpAsAnError) {
  const ProgramRun run = RunProgram({});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("Examples:"));
}

TEST(Program, SuggestsTheCommandAndTheFlagThatWereMeant) {
  const ProgramRun command = RunProgram({"finding"});
  EXPECT_EQ(command.exit_code, kExitError);
  EXPECT_THAT(command.err, HasSubstr("did you mean 'findings'?"));
  const ProgramRun flag = RunProgram({"findings", "--recordng", "x"});
  EXPECT_EQ(flag.exit_code, kExitError);
  EXPECT_THAT(flag.err, HasSubstr("did you mean '--recording'?"));
}

TEST(Program, UnknownConfigurationKeyStopsTheStart) {
  const ScratchDirectory folder;
  const std::string file = folder.path() + "/node.toml";
  WriteBytes(file, "[node]\ntopic_prefx = \"x\"\n");
  const ProgramRun run = RunProgram({"topics", "check", "--config", file});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_EQ(run.err, "eroica: " + file +
                         ":2: unknown key 'node.topic_prefx'; did you mean 'node.topic_prefix'?\n");
}

TEST(Program, ErrorsShowNamesFromOutsideWithoutTheirControlCharacters) {
  const ProgramRun run = RunProgram({"findings", "--recording", "no/\x1b[2Jsuch\r"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("no/\\x1b[2Jsuch\\r"));
}

TEST(Program, NoTransportAndMissingFilesSayWhatToDo) {
  const ProgramRun none = RunProgram({"topics", "check"});
  EXPECT_EQ(none.exit_code, kExitError);
  EXPECT_THAT(none.err, AllOf(HasSubstr("--recording"), HasSubstr("--bootstrap")));
  const ProgramRun missing = RunProgram({"findings", "--recording", "no/such/recording"});
  EXPECT_EQ(missing.exit_code, kExitError);
  EXPECT_THAT(missing.err, HasSubstr("no/such/recording"));
  EXPECT_EQ(RunProgram({"findings", "--config", "no/such/file.toml"}).exit_code, kExitError);
}

TEST(Program, TopicsAreMissingThenCreatedThenAsPlanned) {
  const ScratchDirectory folder;
  const std::string recording = folder.path() + "/recording";
  EXPECT_EQ(RunProgram({"topics", "create", "--recording", recording}).exit_code,
            kExitNothingFound);
  const ProgramRun check = RunProgram({"topics", "check", "--recording", recording, "--json"});
  EXPECT_EQ(check.exit_code, kExitNothingFound) << check.out << check.err;
  EXPECT_THAT(check.out,
              HasSubstr(R"({"topic":"eroica.events","state":"as planned","problems":[]})"));
  const ProgramRun other = RunProgram(
      {"topics", "check", "--recording", recording, "--set", "topics.events_partitions=3"});
  EXPECT_EQ(other.exit_code, kExitError);
  EXPECT_THAT(other.out, HasSubstr("the configuration says 3"));
  const ProgramRun missing =
      RunProgram({"topics", "check", "--recording", recording, "--topic-prefix", "other"});
  EXPECT_EQ(missing.exit_code, kExitError);
  EXPECT_THAT(missing.out, HasSubstr("there is no such topic"));
}

TEST(Program, ARecordingThatNoNodeHasReadIsNotHealthy) {
  const ScratchDirectory folder;
  ASSERT_EQ(RunProgram({"topics", "create", "--recording", folder.path()}).exit_code,
            kExitNothingFound);
  const ProgramRun run = RunProgram({"findings", "--recording", folder.path()});
  EXPECT_EQ(run.exit_code, kExitCannotTell) << run.err;
  EXPECT_THAT(run.out, HasSubstr("no node has run over"));
  const ProgramRun json = RunProgram({"findings", "--recording", folder.path(), "--json"});
  EXPECT_EQ(json.exit_code, kExitCannotTell);
  EXPECT_THAT(json.out, IsEmpty()) << "which is for findings alone";
  EXPECT_THAT(json.err, HasSubstr("no node has run over"));
}

TEST(Program, FindingsOfAStateThatIsNotThereIsAnError) {
  const ScratchDirectory folder;
  const ProgramRun missing = RunProgram({"findings", "--state", folder.path() + "/none"});
  EXPECT_EQ(missing.exit_code, kExitError);
  EXPECT_THAT(missing.err, HasSubstr("there is no state store in " + folder.path() + "/none"));
  const ProgramRun follow = RunProgram({"findings", "--state", folder.path(), "--follow"});
  EXPECT_EQ(follow.exit_code, kExitError);
  EXPECT_THAT(follow.err, HasSubstr("--state"));
}

TEST(Program, CaptureSaysWhatItAskedFor) {
  const ScratchDirectory folder;
  ASSERT_EQ(RunProgram({"topics", "create", "--recording", folder.path()}).exit_code,
            kExitNothingFound);
  const ProgramRun run = RunProgram(
      {"capture", "--recording", folder.path(), "--job", "night", "--steps", "100..131", "--json"});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(
      run.out,
      StartsWith(
          R"({"job":"night","off":false,"first_step":100,"last_step":131,"level":2,"expires_at":")"));
}

TEST(Program, ImportRefusesASecondTimeUnlessTold) {
  const ScratchDirectory folder;
  const std::string trace = folder.path() + "/rank0.json";
  WriteBytes(trace, R"({"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[
      {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":100,"dur":5,"args":{"device":0,"stream":7}},
      {"ph":"i","cat":"x","name":"instant","pid":0,"tid":7,"ts":101}]})");
  const std::string recording = folder.path() + "/recording";
  const ProgramRun first =
      RunProgram({"import", trace, "-o", recording, "--job", "night", "--json"});
  ASSERT_EQ(first.exit_code, kExitNothingFound) << first.err;
  EXPECT_THAT(
      first.out,
      StartsWith(
          R"({"job":"night","world_size":1,"ranks":[0],"events":2,"imported":1,"skipped":{"unknown_phase":1})"));
  const ProgramRun second = RunProgram({"import", trace, "-o", recording});
  EXPECT_EQ(second.exit_code, kExitError);
  EXPECT_THAT(second.err, HasSubstr("--append"));
  EXPECT_EQ(RunProgram({"import", trace, "-o", recording, "--append"}).exit_code,
            kExitNothingFound);
}

TEST(Program, ImportSaysWhatIsNoTrace) {
  const ScratchDirectory folder;
  const std::string file = folder.path() + "/notes.json";
  WriteBytes(file, "no trace at all");
  for (const std::string& path : {file, folder.path() + "/missing.json"}) {
    const ProgramRun run = RunProgram({"import", path, "-o", folder.path() + "/recording"});
    EXPECT_EQ(run.exit_code, kExitError);
    EXPECT_THAT(run.err, HasSubstr(path));
  }
}

}  // namespace
}  // namespace eroica
