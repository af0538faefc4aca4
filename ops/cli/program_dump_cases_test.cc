// The program over the dumps of ../shared/cases, with what is right (../shared/cases/README.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ops/cli/diagnosed_dumps.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::string name;
  int exit_code = 0;
  std::string subkind;
  std::vector<int> culprits;
  std::string says;
};
class CaseOfDumps : public ::testing::TestWithParam<Case> {};

TEST_P(CaseOfDumps, IsRight) {
  const std::string folder = "../shared/cases/dumps/" + GetParam().name;
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "needs " << folder << ", which is not in the repository";
  const SaidOfDumps said = DiagnoseDumps(folder);
  EXPECT_EQ(said.exit_code, GetParam().exit_code) << said.title();
  EXPECT_EQ(said.subkind(), GetParam().subkind) << said.title();
  EXPECT_EQ(said.culprits, GetParam().culprits);
  EXPECT_THAT(said.text, HasSubstr(GetParam().says));
  EXPECT_LE(said.findings.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Shared, CaseOfDumps,
    ::testing::Values(
        Case{"batched_p2p_healthy", 3, "", {}, "Nothing is in flight"},
        Case{"coalesced_allgather", 1, "never_launched", {2}, "reduce_scatter number 13"},
        Case{"real_cross", 1, "mismatch", {3}, "rank 3 in all_gather number 6"},
        Case{"real_monitored", 3, "", {}, "Gloo records no send, recv and monitored_barrier"},
        Case{"real_uneven", 1, "mismatch", {2}, "an early end of the data"},
        Case{"agilerl_658", 1, "mismatch", {2}, "another size"},
        Case{"nccl_1063_default", 1, "stalled", {}, "TORCH_NCCL_ENABLE_TIMING"},
        Case{"nccl_1063_timing", 1, "device", {5}, "own device"},
        Case{"autocast_386", 1, "never_launched", {0, 1, 2, 3}, "it is one ahead"},
        Case{"default_names", 1, "never_launched", {2}, "all_reduce number 21"},
        Case{"empty_dumps", 3, "", {}, "the recorders were off"},
        Case{"stale_dump", 1, "never_launched", {3}, "of another attempt"},
        Case{"h_handler_stuck", 1, "never_launched", {3}, "all_reduce number 11"},
        Case{"hangdump_json", 3, "", {}, "Rank 3 entered number 11"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace eroica
