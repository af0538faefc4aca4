// The program over dumps whose files say that they were written while the job ran.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "ops/cli/diagnosed_dumps.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "producers/import/made_dumps.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Four ranks in the same all-reduce, which all but the late one launched 4 ms after the beginning.
SaidOfDumps Diagnosed(int64_t written_ms, int late_rank) {
  const ScratchDirectory folder;
  const std::chrono::sys_time<std::chrono::milliseconds> written(
      std::chrono::milliseconds(MadeDump::kBaseMs + written_ms));
  for (int rank = 0; rank < 4; ++rank) {
    MadeDump dump;
    dump.Ended(3);
    if (rank != late_rank) dump.Open(4, {.timed = true});
    const std::string file = folder.path() + "/nccl_trace_rank_" + std::to_string(rank);
    dump.Write(file);
    std::filesystem::last_write_time(file, std::chrono::file_clock::from_sys(written));
  }
  return DiagnoseDumps(folder.path());
}

TEST(ProgramOverEarlyDumps, AJobThatRunsIsNoHang) {
  for (const int late_rank : {-1, 2}) {
    const SaidOfDumps said = Diagnosed(20, late_rank);
    EXPECT_THAT(said.findings, IsEmpty()) << said.title();
    EXPECT_EQ(said.exit_code, kExitCannotTell);
    EXPECT_THAT(said.text, HasSubstr("written at most 16 ms after"));
    EXPECT_THAT(said.text, HasSubstr("Take the dumps again"));
  }
}

TEST(ProgramOverEarlyDumps, WhatWasWrittenLaterOrCopiedIsAHang) {
  constexpr int64_t kCopiedMs = 3'600'000;
  constexpr int64_t kBeforeTheLaunchMs = 1;  // no file's own time
  for (const int64_t written_ms : {int64_t{700}, kCopiedMs, kBeforeTheLaunchMs})
    EXPECT_THAT(Diagnosed(written_ms, 2).findings, SizeIs(1)) << written_ms;
}

}  // namespace
}  // namespace eroica
