#include "ops/launch/exit_status.h"

#include <gtest/gtest.h>

#include <csignal>

namespace eroica {
namespace {

TEST(ExitStatus, CodesAndSignals) {
  EXPECT_EQ(EndOfStatus(0), (ProcessEnd{.exit_code = 0}));
  EXPECT_EQ(EndOfStatus(7 << 8), (ProcessEnd{.exit_code = 7}));
  EXPECT_EQ(EndOfStatus(SIGKILL), (ProcessEnd{.signal = SIGKILL}));
  constexpr int kCoreDumped = 0x80;
  EXPECT_EQ(EndOfStatus(SIGSEGV | kCoreDumped), (ProcessEnd{.signal = SIGSEGV}));
}

TEST(ExitStatus, OfNoProcessNothingIsKnown) { EXPECT_FALSE(ReadEnd(-1, 2'000'000'000).is_known()); }

}  // namespace
}  // namespace eroica
