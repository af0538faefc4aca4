#include "ops/act/command_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eroica {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(RunCommand, KeepsWhatItPrintsAndHowItEnds) {
  const auto result =
      RunCommand({.arguments = {"/bin/sh", "-c", "echo out; echo err >&2; echo \"$1\"; exit 3",
                                "sh", "a b;c"}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->output, "out\nerr\na b;c\n");
  EXPECT_FALSE(result->timed_out);
}

TEST(RunCommand, ItsEnvironmentIsNotOurs) {
  ::setenv("EROICA_TEST_SECRET", "do not tell", 1);
  const auto result =
      RunCommand({.arguments = {"/usr/bin/env"}, .variables = {{"EROICA_JOB", "night"}}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->output, HasSubstr("EROICA_JOB=night\n"));
  EXPECT_THAT(result->output, Not(HasSubstr("do not tell")));
}

TEST(RunCommand, WhatPrintsWithoutEndIsCut) {
  const auto result = RunCommand(
      {.arguments = {"/usr/bin/head", "-c", "100000", "/dev/zero"}, .output_bytes_max = 1'000});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->output.size(), 1'000U);
  EXPECT_EQ(result->bytes_left_out, 99'000U);
}

// It ignores SIGTERM, has closed its output, and has started another process.
TEST(RunCommand, WhatTakesTooLongIsKilledWithAllItHasStarted) {
  const auto open = RunCommand({.arguments = {"/bin/sh", "-c", "trap '' TERM; sleep 1000 & wait"},
                                .timeout = milliseconds(100)});
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_TRUE(open->timed_out);
  EXPECT_EQ(open->exit_code, 128 + 9);
  const auto closed = RunCommand(
      {.arguments = {"/bin/sh", "-c", "exec >&- 2>&-; sleep 1000"}, .timeout = milliseconds(100)});
  ASSERT_TRUE(closed.ok()) << closed.status();
  EXPECT_TRUE(closed->timed_out);
}

TEST(RunCommand, AProgramThatIsNotThereIsAnError) {
  const auto result = RunCommand({.arguments = {"/no/such/program"}});
  EXPECT_TRUE(absl::IsNotFound(result.status())) << result.status();
}

}  // namespace
}  // namespace eroica
