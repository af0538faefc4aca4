#include "producers/python/gil_probe.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

namespace eroica {
namespace {

constexpr uintptr_t kBegin = 0x7f0000001000;
constexpr uintptr_t kEnd = 0x7f0000002000;

std::string Futex(const char* address) {
  return std::to_string(SYS_futex) + " " + address + " 0x189 0x0\n";
}

TEST(GilProbe, AFutexInsideTheRuntimeIsAWaitForTheGil) {
  EXPECT_EQ(ParseSyscall(Futex("0x7f0000001000"), kBegin, kEnd), ThreadState::kWaitingForGil);
  EXPECT_EQ(ParseSyscall(Futex("0x7f0000001fff"), kBegin, kEnd), ThreadState::kWaitingForGil);
  EXPECT_EQ(ParseSyscall(Futex("0x7f0000002000"), kBegin, kEnd), ThreadState::kInSystemCall);
  EXPECT_EQ(ParseSyscall(Futex("0x7f0000000fff"), kBegin, kEnd), ThreadState::kInSystemCall);
}

TEST(GilProbe, WithoutARuntimeNothingIsAWaitForTheGil) {
  EXPECT_EQ(ParseSyscall(Futex("0x0"), 0, 0), ThreadState::kInSystemCall);
  EXPECT_EQ(ParseSyscall(Futex("0x7f0000001000"), 0, 0), ThreadState::kInSystemCall);
}

TEST(GilProbe, OtherCallsAndRunningThreads) {
  EXPECT_EQ(ParseSyscall("running\n", kBegin, kEnd), ThreadState::kRunning);
  EXPECT_EQ(ParseSyscall("0 0x7f0000001000 0x1 0x2\n", kBegin, kEnd), ThreadState::kInSystemCall);
  EXPECT_EQ(ParseSyscall("-1 0x7ffc 0x7f\n", kBegin, kEnd), ThreadState::kInSystemCall);
}

TEST(GilProbe, TextThatTheKernelDoesNotWriteIsNotKnown) {
  for (const char* text : {"", " ", "futex", "0x202 0x1", "\n"}) {
    const ThreadState state = ParseSyscall(text, kBegin, kEnd);
    EXPECT_NE(state, ThreadState::kWaitingForGil) << text;
    EXPECT_NE(state, ThreadState::kRunning) << text;
  }
  EXPECT_EQ(ParseSyscall(std::to_string(SYS_futex), kBegin, kEnd), ThreadState::kInSystemCall);
  EXPECT_EQ(ParseSyscall(Futex("0xzz"), kBegin, kEnd), ThreadState::kInSystemCall);
}

TEST(GilProbe, AThreadThatDoesNotExistIsNotKnown) {
  EXPECT_EQ(GilProbe(-5).Read(), ThreadState::kUnknown);
}

}  // namespace
}  // namespace eroica
