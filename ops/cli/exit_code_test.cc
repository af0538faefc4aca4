#include "ops/cli/exit_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <string>

namespace eroica {
namespace {

using ::testing::HasSubstr;

TEST(ExitAtBoundary, TheProgramsAnswerIsItsExitCode) {
  EXPECT_EQ(ExitAtBoundary([] { return kExitFindings; }), kExitFindings);
}

// Throws at ops/cli/exit_code.cc: any command
TEST(ExitAtBoundary, WhatALibraryThrowsIsAnErrorThatIsSaid) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ExitAtBoundary([]() -> int { throw std::bad_alloc(); }), kExitError);
  EXPECT_EQ(ExitAtBoundary([]() -> int { throw 7; }), kExitError);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("an exception ended the program: std::bad_alloc"));
  EXPECT_THAT(said, HasSubstr("an exception ended the program: int"));
}

}  // namespace
}  // namespace eroica
