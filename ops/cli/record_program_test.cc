// `eroica record` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

TEST(RecordProgram, HelpHasExamples) {
  const ProgramRun run = RunProgram({"record", "--help"});
  EXPECT_EQ(run.exit_code, kExitNothingFound);
  EXPECT_THAT(run.out, AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes:")));
}

TEST(RecordProgram, CopiesARecordingThatIsThenAsRecorded) {
  const ScratchDirectory folder;
  const std::string copy = folder.path() + "/copy";
  const ProgramRun run = RunProgram({"record", "--recording", kFaultyRecording, "-o", copy});
  ASSERT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("recorded "), HasSubstr("of 1 job"), HasSubstr("ranks")));
  const ProgramRun verify = RunProgram({"record", "--verify", copy});
  EXPECT_EQ(verify.exit_code, kExitNothingFound) << verify.err;
  EXPECT_THAT(verify.out, HasSubstr("as recorded: "));
  const ProgramRun again = RunProgram({"record", "--recording", kFaultyRecording, "-o", copy});
  EXPECT_EQ(again.exit_code, kExitError);
  EXPECT_THAT(again.err, HasSubstr("is not empty"));
}

TEST(RecordProgram, WhatIsDamagedIsNotAsRecorded) {
  const ScratchDirectory folder;
  const std::string copy = folder.path() + "/copy";
  ASSERT_EQ(RunProgram({"record", "--recording", kFaultyRecording, "-o", copy}).exit_code,
            kExitNothingFound);
  const std::string segment = copy + "/eroica.events/0/00000000000000000000.segment";
  std::filesystem::resize_file(segment, std::filesystem::file_size(segment) - 10);
  const ProgramRun verify = RunProgram({"record", "--verify", copy});
  EXPECT_EQ(verify.exit_code, kExitError);
  EXPECT_THAT(verify.err, HasSubstr("truncated or damaged"));
}

TEST(RecordProgram, ADryRunSaysWhatWouldBeCopiedAndCopiesNothing) {
  const ScratchDirectory folder;
  const std::string copy = folder.path() + "/copy";
  const ProgramRun run =
      RunProgram({"record", "--recording", kFaultyRecording, "-o", copy, "--dry-run"});
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("eroica.events/0"), HasSubstr("jobs at the partitions")));
  EXPECT_FALSE(std::filesystem::exists(copy));
  const ProgramRun json =
      RunProgram({"record", "--recording", kFaultyRecording, "--dry-run", "--json"});
  EXPECT_THAT(json.out, HasSubstr("{\"records\":"));
}

TEST(RecordProgram, SaysWhatIsMissingOrWrong) {
  const ProgramRun nowhere = RunProgram({"record", "--recording", kFaultyRecording});
  EXPECT_EQ(nowhere.exit_code, kExitError);
  EXPECT_THAT(nowhere.err, HasSubstr("where to?"));
  const ProgramRun no_time =
      RunProgram({"record", "--recording", kFaultyRecording, "-o", "x", "--from", "yesterday"});
  EXPECT_EQ(no_time.exit_code, kExitError);
  EXPECT_THAT(no_time.err, HasSubstr("--from: 'yesterday' is no time"));
  const ProgramRun backwards = RunProgram({"record", "--recording", kFaultyRecording, "-o", "x",
                                           "--from", "2026-01-02", "--to", "2026-01-01"});
  EXPECT_THAT(backwards.err, HasSubstr("is not after --from"));
  const ProgramRun no_source = RunProgram({"record", "-o", "x"});
  EXPECT_THAT(no_source.err, HasSubstr("--recording DIR or --bootstrap"));
  const ProgramRun missing = RunProgram({"record", "--recording", "no-such-folder", "-o", "x"});
  EXPECT_THAT(missing.err, HasSubstr("no-such-folder"));
  const ProgramRun none = RunProgram({"record", "--verify", "no-such-folder"});
  EXPECT_EQ(none.exit_code, kExitError);
  EXPECT_THAT(none.err, HasSubstr("no-such-folder"));
}

}  // namespace
}  // namespace eroica
