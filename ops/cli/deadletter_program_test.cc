// `eroica deadletter` from outside, and a node that is flooded with what it cannot use: over a
// recording, with names that are hostile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "schemas/printable_text.h"
#include "stream_ops/recording/recording_log.h"

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kRecords = 30;
const std::string kHostileJob = "night\n[critical] \x1b[2J\r\u009b\xff/../../etc";

// What reaches a terminal are lines without control characters.
void ExpectPrintable(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(line, Printable(line));
}

class DeadLetterProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Run({"topics", "create"}).exit_code, kExitNothingFound);
    const auto log = RecordingLog::Open({.directory = Recording()});
    const auto producer = (*log)->NewProducer();
    for (int i = 0; i < kRecords; ++i) {
      ASSERT_TRUE((*producer)
                      ->Append({.topic = "eroica.events",
                                .key = kHostileJob + "/0",
                                .value = "no payload of ours " + std::to_string(i),
                                .headers = {{"job", kHostileJob}}})
                      .ok());
    }
    ASSERT_TRUE((*producer)->Flush(std::chrono::seconds(10)).ok());
  }

  std::string Recording() const { return folder_.path() + "/recording"; }
  ProgramRun Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--recording", Recording()});
    ProgramRun run = RunProgram(std::move(arguments));
    ExpectPrintable(run.out);
    ExpectPrintable(run.err);
    return run;
  }
  ProgramRun Drain(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"node", "--drain"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(std::move(arguments));
  }

  ScratchDirectory folder_;
};

TEST_F(DeadLetterProgramTest, AFloodMakesTheNodeUnhealthyAndItsLastWordsSaySo) {
  const ProgramRun run = Drain();
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.err,
              HasSubstr("warning node: unhealthy reason=\"Stage summarize could not use 30 "
                        "of the 30 records of the last 60 s, mostly wrong_identifier"));
  EXPECT_THAT(run.err, HasSubstr("\nnode: unhealthy: Stage summarize could not use"));
}

TEST_F(DeadLetterProgramTest, WhatIsAFloodIsConfigured) {
  EXPECT_THAT(Drain({"--set", "health.dead_letters_min=31"}).err, HasSubstr("\nnode: healthy\n"));
}

TEST_F(DeadLetterProgramTest, ListsWhatWasRefusedAndWhy) {
  ASSERT_EQ(Drain().exit_code, kExitNothingFound);
  const ProgramRun list = Run({"deadletter", "list", "--limit", "5"});
  EXPECT_EQ(list.exit_code, kExitNothingFound) << list.err;
  EXPECT_EQ(std::ranges::count(list.out, '\n'), 1 + 5 + 1 + 1) << "a title, and the sum";
  EXPECT_THAT(list.out, AllOf(HasSubstr("eroica.events/"), HasSubstr("night\\n[critical] \\x1b[2J"),
                              HasSubstr("30 dead letters: 30 wrong_identifier; the newest 5")));
  const ProgramRun json = Run({"deadletter", "list", "--json", "--payload", "--limit", "1"});
  EXPECT_THAT(json.out, HasSubstr(R"("whole":true)"));
  EXPECT_THAT(json.out, HasSubstr(R"("value_base64":"bm8gcGF5bG9hZCBvZiBvdXJzIDI5")"));
  EXPECT_EQ(Run({"deadletter", "list", "--summary", "--json", "--job", kHostileJob}).out,
            "{\"dead_letters\":30,\"reasons\":{\"wrong_identifier\":30}}\n");
  EXPECT_EQ(Run({"deadletter", "list", "--summary", "--job", "day"}).out, "0 dead letters\n");
  EXPECT_EQ(Run({"deadletter", "list", "--summary", "--reason", "late"}).out, "0 dead letters\n");
}

TEST_F(DeadLetterProgramTest, SendsThemBackOnceAndWhatComesBackOnlyWhenAsked) {
  ASSERT_EQ(Drain().exit_code, kExitNothingFound);
  EXPECT_THAT(Run({"deadletter", "replay", "--dry-run"}).out,
              HasSubstr("would send 30 back: 30 to eroica.events"));
  EXPECT_THAT(Run({"deadletter", "replay", "--limit", "10"}).out, HasSubstr("sent 10 back"));
  const ProgramRun rest = Run({"deadletter", "replay"});
  EXPECT_THAT(rest.out, AllOf(HasSubstr("sent 20 back"), HasSubstr("not sent: 10 that were sent")));
  EXPECT_THAT(Run({"deadletter", "list"}).out, HasSubstr("wrong_identifier (sent back)"));
  ASSERT_EQ(Drain().exit_code, kExitNothingFound);
  EXPECT_THAT(Run({"deadletter", "list", "--limit", "1"}).out,
              AllOf(HasSubstr("wrong_identifier (came back)"), HasSubstr("60 dead letters")));
  EXPECT_THAT(
      Run({"deadletter", "replay"}).out,
      AllOf(HasSubstr("sent 0 back"), HasSubstr("not sent: 60 that were sent back before")));
  EXPECT_THAT(Run({"deadletter", "replay", "--again", "--limit", "1"}).out,
              HasSubstr("sent 1 back"));
}

// One process writes to a partition of a recording: a node has the dead-letter topic.
TEST_F(DeadLetterProgramTest, ANodeThatRunsOverTheRecordingIsNamed) {
  Program node({"node", "--recording", Recording()});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (Run({"deadletter", "list", "--summary"}).out.find("30 dead") == std::string::npos)
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << node.ErrSoFar();
  const ProgramRun replay = Run({"deadletter", "replay", "--limit", "1"});
  EXPECT_EQ(replay.exit_code, kExitError);
  EXPECT_THAT(replay.err, AllOf(HasSubstr("could not be marked"), HasSubstr("another writer")));
}

TEST_F(DeadLetterProgramTest, MistakesSayWhatMayBeWritten) {
  const ProgramRun reason = Run({"deadletter", "list", "--reason", "too_shrt"});
  EXPECT_EQ(reason.exit_code, kExitError);
  EXPECT_THAT(reason.err, HasSubstr("too_short"));
  const ProgramRun time = Run({"deadletter", "list", "--since", "yesterday"});
  EXPECT_EQ(time.exit_code, kExitError);
  EXPECT_THAT(time.err, HasSubstr("so long ago"));
  const ProgramRun topic = Run({"deadletter", "list", "--topic-prefix", "other"});
  EXPECT_EQ(topic.exit_code, kExitError);
  EXPECT_THAT(topic.err, HasSubstr("other.deadletter"));
}

}  // namespace
}  // namespace eroica
