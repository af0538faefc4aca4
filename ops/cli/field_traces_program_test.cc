// The program over small traces of kinds that people have (docs/ACCURACY.md, "Traces from the
// field"): those that lie beside the repository, and some that are made here.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "ops/cli/words.h"

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kCases = "../shared/cases/traces/";

struct FieldCase {
  const char* name;
  int exit_code;
  const char* says;
  const char* never = "no such words";
};

void PrintTo(const FieldCase& field_case, std::ostream* out) { *out << field_case.name; }

class FieldTraces : public ::testing::TestWithParam<FieldCase> {};

TEST_P(FieldTraces, AreToldRight) {
  const FieldCase& expected = GetParam();
  if (!std::filesystem::exists(kCases + expected.name))
    GTEST_SKIP() << "needs ../shared/cases, which is not in the repository; the tests below make "
                    "some of these kinds themselves";
  const ProgramRun run = RunProgram({"diagnose", kCases + expected.name});
  EXPECT_EQ(run.exit_code, expected.exit_code) << run.out << run.err;
  EXPECT_THAT(Words(run.out), AllOf(HasSubstr(expected.says), Not(HasSubstr(expected.never))));
}

INSTANTIATE_TEST_SUITE_P(
    All, FieldTraces,
    ::testing::Values(
        FieldCase{"deepep_healthy", kExitNothingFound, "448 collectives, all matched"},
        FieldCase{"deepep_late_host", kExitFindings, "Rank 2 holds 7 other ranks up by 15.0 ms"},
        FieldCase{"steps_as_cpu_op", kExitFindings, "Rank 2 holds 3 other ranks up by 15.0 ms",
                  "ran ProfilerStep"},
        FieldCase{"no_steps", kExitFindings, "its training thread takes it", "gemm"},
        FieldCase{"pytorch_117550", kExitFindings, "The straggler rotates among", "who rank"},
        FieldCase{"ascend_late_host", kExitFindings, "Rank 2 holds 3 other ranks up by 15.0 ms"},
        FieldCase{"pp_equal_stages", kExitCannotTell, "1 of 9 steps takes 203 ms", "too heavy"},
        FieldCase{"py314_2ranks", kExitFindings, "it runs q8.py(22): slow"},
        FieldCase{"jax", kExitCannotTell, "XLA's profiler (JAX, TensorFlow)", "prof.step()"},
        FieldCase{"merged_one_file", kExitCannotTell, "give the files from before the merge"},
        FieldCase{"crash_1event", kExitCannotTell, "rank 1 of 2 is not recorded"},
        FieldCase{"crash_2of4", kExitCannotTell, "ranks 2 and 3 of 4 are not recorded"}),
    [](const auto& test) { return std::string(test.param.name); });

// A job of four ranks that exchange data twice a step, in steps of some 12 ms.
class SmallJob {
 public:
  std::string kernel = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)";
  double late_ms = 0;                    // of rank 2's host, each step
  bool hangs = false;                    // rank 2 never comes to the last collective
  std::string mark = "user_annotation";  // the category of its steps
  double stall_ms = 0;       // in a kernel of rank 0, 1 or 3 in turn, three times in seven steps
  double host_stall_ms = 0;  // the same before the kernel
  double slower = 0;         // share by which the kernels of ranks 0, 1 and 3 take longer for good
  int steps = 14;
  static constexpr int kRanks = 4;

  ProgramRun Diagnose() const {
    const ScratchDirectory scratch;
    for (int rank = 0; rank < kRanks; ++rank) {
      std::ofstream file(scratch.path() + fmt::format("/rank{}.json", rank));
      file << TraceOf(rank);
    }
    return RunProgram({"diagnose", scratch.path()});
  }

 private:
  // Makes no two ranks and steps equal, by a few microseconds.
  static double Jitter(int rank, int step) { return 0.001 * ((7 * rank + 13 * step) % 11); }
  static std::string Event(const char* category, const std::string& name, bool device, double ms,
                           double for_ms) {
    return fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {:.3f}, "dur": {:.3f}}},)",
        category, name, device ? 0 : 9, device ? 7 : 9, 1e3 * (1000 + ms), 1e3 * for_ms);
  }
  // The rank that stalls in the step; -1: none.
  static int StalledIn(int step) {
    constexpr int kTurns[] = {-1, 0, -1, 1, -1, 3, -1};
    return kTurns[step % 7];
  }
  std::string TraceOf(int rank) const {
    std::string events;
    double begin = 0;
    for (int step = 0; step < steps; ++step) {
      const double stall = StalledIn(step) < 0 ? 0 : stall_ms + host_stall_ms;
      const double own_stall = StalledIn(step) == rank ? stall_ms : 0;
      const double gemm_ms = 4 * (rank == 2 ? 1 : 1 + slower);
      const double step_ms = 12 + late_ms + stall;
      const double late = (rank == 2 ? late_ms : 0) +
                          (StalledIn(step) == rank ? host_stall_ms : 0) + Jitter(rank, step);
      const double end = begin + late_ms + stall;
      events +=
          Event(mark.c_str(), fmt::format("ProfilerStep#{}", step + 5), false, begin, step_ms);
      events += Event("cpu_op", "aten::mm", false, begin + late, 0.02);
      events += Event("kernel", "gemm", true, begin + late + 0.1, gemm_ms + own_stall);
      events += Event("kernel", kernel, true, begin + late + gemm_ms + 0.2 + own_stall,
                      end + 4.8 - begin - late - gemm_ms - own_stall);
      events += Event("kernel", "gemm", true, end + 5, 4 + Jitter(rank, step));
      events +=
          Event("kernel", kernel, true, end + 9 + Jitter(rank, step), 1.5 - Jitter(rank, step));
      events += Event("cuda_runtime", "cudaStreamSynchronize", false, begin + late + 0.1,
                      end + 10.6 - begin - late - 0.1);
      begin += step_ms;
    }
    if (hangs) {
      const std::string name = fmt::format("ProfilerStep#{}", steps + 5);
      events += Event(mark.c_str(), name, false, begin, 5'000);
      if (rank != 2) events += Event("kernel", kernel, true, begin, 5'000);
    }
    events.pop_back();
    return fmt::format(
        R"({{"distributedInfo": {{"rank": {}, "world_size": {}}}, "traceEvents": [{}]}})", rank,
        kRanks, events);
  }
};

TEST(SmallTraces, AHealthyJobIsWhateverCarriesItsCollectives) {
  for (const char* kernel :
       {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)",
        "void deep_ep::intranode::combine<__nv_bfloat16, 8>(int4*)",
        "void vllm::cross_device_reduce_2stage<half, 8>(RankData*)", "oneccl_allreduce_pcie<half>",
        "mcclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(mcclWorkElem)"}) {
    const ProgramRun run = SmallJob{.kernel = kernel}.Diagnose();
    EXPECT_EQ(run.exit_code, kExitNothingFound) << kernel << run.out << run.err;
  }
}

TEST(SmallTraces, ALateHostIsFoundWhateverCarriesTheCollectives) {
  for (const char* kernel : {"void deep_ep::internode_ll::dispatch<true, 7168>(void*)",
                             "void (anonymous namespace)::multimem_all_reduce_kernel<float>(x)"}) {
    const ProgramRun run = SmallJob{.kernel = kernel, .late_ms = 4}.Diagnose();
    EXPECT_EQ(run.exit_code, kExitFindings) << run.out << run.err;
    EXPECT_THAT(Words(run.out), HasSubstr("Rank 2 holds 3 other ranks up by 4.00 ms a step"));
  }
}

// Kernels that wait and that nobody knows count as work: nothing is said of them.
TEST(SmallTraces, WithoutAnyCollectiveNobodyCanTell) {
  const ProgramRun run = SmallJob{.kernel = "my_exchange_kernel", .late_ms = 4}.Diagnose();
  EXPECT_EQ(run.exit_code, kExitCannotTell) << run.out << run.err;
  EXPECT_THAT(Words(run.out), HasSubstr("No collective, send or receive was seen on any rank"));
}

TEST(SmallTraces, ACaptureThatEndsInACollectiveIsAHang) {
  const ProgramRun run = SmallJob{.hangs = true}.Diagnose();
  EXPECT_EQ(run.exit_code, kExitFindings) << run.out << run.err;
  EXPECT_THAT(Words(run.out),
              HasSubstr("The job hangs for 5.00 s: rank 2 never launched all_reduce number 28"));
}

// Nothing was imported of a trace: that is no error of who gave it.
TEST(SmallTraces, OfATraceWithoutEventsItCannotTell) {
  for (const char* text : {R"({"traceEvents": []})", "[]"}) {
    const ScratchDirectory scratch;
    for (const int rank : {0, 1})
      std::ofstream(scratch.path() + fmt::format("/rank{}.json", rank)) << text;
    const ProgramRun run = RunProgram({"diagnose", scratch.path()});
    EXPECT_EQ(run.exit_code, kExitCannotTell) << run.out << run.err;
    EXPECT_THAT(Words(run.out), HasSubstr("none of its 0 events"));
  }
}

TEST(SmallTraces, StepsAreStepsInAnyCategoryOfTheHost) {
  for (const char* mark : {"user_annotation", "cpu_op", "python_function", "cuda_runtime"}) {
    const ProgramRun run = SmallJob{.late_ms = 4, .mark = mark}.Diagnose();
    EXPECT_EQ(run.exit_code, kExitFindings) << mark << run.out << run.err;
    EXPECT_THAT(Words(run.out), HasSubstr("Rank 2 holds 3 other ranks up by 4.00 ms a step"));
  }
}

// Both that work varies and that nothing recorded explains the stalls would be wrong.
TEST(SmallTraces, StallsWithinKernelsThatRotateAreOneFindingAndNobodys) {
  const ProgramRun run = SmallJob{.stall_ms = 30, .steps = 28}.Diagnose();
  EXPECT_EQ(run.exit_code, kExitFindings) << run.out << run.err;
  EXPECT_THAT(Words(run.out),
              AllOf(HasSubstr("1 finding "), HasSubstr("The straggler rotates among 3 ranks"),
                    HasSubstr("by 30.0 ms: its kernels take longer then"),
                    Not(HasSubstr("who rank")), Not(HasSubstr("Work varies"))));
}

// Devices of one kind differ by a little, for good: no kernel takes longer when a host stalls.
TEST(SmallTraces, StallsOfHostsThatRotateAreNotInKernels) {
  const ProgramRun run = SmallJob{.host_stall_ms = 30, .slower = 0.02, .steps = 28}.Diagnose();
  EXPECT_EQ(run.exit_code, kExitFindings) << run.out << run.err;
  EXPECT_THAT(Words(run.out), AllOf(HasSubstr("The straggler rotates among 3 ranks"),
                                    HasSubstr("nothing that was recorded of it explains that"),
                                    Not(HasSubstr("its kernels take longer then"))));
}

}  // namespace
}  // namespace eroica
