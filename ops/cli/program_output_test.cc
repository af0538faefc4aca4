#include "ops/cli/program_output.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kEnough{60'000};

TEST(ProgramOutput, IsWhatTheProgramPrints) {
  EXPECT_EQ(
      *OutputOf({"sh", "-c", "echo $WORD; echo elsewhere >&2; cat"}, {{"WORD", "said"}}, kEnough),
      "said\n");
}

TEST(ProgramOutput, FailuresAreNoOutput) {
  EXPECT_TRUE(absl::IsUnknown(OutputOf({"sh", "-c", "echo half; exit 3"}, {}, kEnough).status()));
  EXPECT_TRUE(absl::IsUnknown(OutputOf({"sh", "-c", "kill -9 $$"}, {}, kEnough).status()));
  EXPECT_TRUE(absl::IsUnknown(OutputOf({"no-such-program"}, {}, kEnough).status()));
}

TEST(ProgramOutput, NobodyWaitsForAProgramThatHangs) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      OutputOf({"sh", "-c", "exec tail -f /dev/null"}, {}, milliseconds(50)).status()));
}

TEST(ProgramOutput, EndlessOutputIsCutOff) { EXPECT_FALSE(OutputOf({"yes"}, {}, kEnough).ok()); }

}  // namespace
}  // namespace eroica
