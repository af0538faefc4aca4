// The program over traces of a job on two hosts: made ones, of devices of a host that are slow, and
// of a pipeline whose stages exchange much.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "ops/cli/words.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

constexpr int kSteps = 40;

// Writes the trace of each of some ranks, four to a host.
class TraceWriter {
 public:
  explicit TraceWriter(int ranks) : events_(static_cast<size_t>(ranks)) {}

  void Add(int rank, const char* category, const std::string& name, int stream, double at_us,
           double for_us, const std::string& args = "") {
    events_[static_cast<size_t>(rank)] += fmt::format(
        R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}},)",
        category, name, stream > 0 ? 0 : 9, stream > 0 ? stream : 9, 1e6 + at_us, for_us, args);
  }
  // A kernel, and the call that launched it.
  void Kernel(int rank, const std::string& name, int stream, double at_us, double for_us,
              const std::string& args = "") {
    const std::string correlation = fmt::format(R"("correlation":{})", ++correlation_);
    Add(rank, "cuda_runtime", "cudaLaunchKernel", 0, at_us - 8, 4, correlation);
    Add(rank, "kernel", name, stream, at_us, for_us,
        correlation + (args.empty() ? "" : ",") + args);
  }
  void Step(int rank, int step, double at_us, double for_us) {
    Add(rank, "user_annotation", fmt::format("ProfilerStep#{}", step + 10), 0, at_us, for_us);
  }
  ProgramRun Diagnose() {
    const ScratchDirectory folder;
    for (size_t rank = 0; rank < events_.size(); ++rank) {
      events_[rank].pop_back();
      std::ofstream(folder.path() + fmt::format("/rank{}.json", rank)) << fmt::format(
          R"({{"host_name":"node{}","distributedInfo":{{"rank":{},"world_size":{}}},"traceEvents":[{}]}})",
          rank / 4, rank, events_.size(), events_[rank]);
    }
    return RunProgram({"diagnose", folder.path()});
  }

 private:
  std::vector<std::string> events_;  // by rank
  int correlation_ = 0;
};

// What healthy devices differ by for good, and a kernel from one call to the next.
class Devices {
 public:
  Devices(int ranks, unsigned seed) : random_(seed) {
    for (int rank = 0; rank < ranks; ++rank) lasting_.push_back(1 + 0.005 * normal_(random_));
  }
  double Of(int rank) { return lasting_[static_cast<size_t>(rank)] * OfCall(); }
  double OfCall() { return 1 + 0.01 * normal_(random_); }

 private:
  std::mt19937 random_;
  std::normal_distribution<> normal_;
  std::vector<double> lasting_;
};

// Eight ranks that hold the same layers and reduce their gradients; on the second host kernels on
// data take so many times as long, and the optimizer.
ProgramRun DataParallel(double data, double optimizer, unsigned seed) {
  constexpr int kRanks = 8;
  TraceWriter traces(kRanks);
  Devices devices(kRanks, seed);
  double at_us = 0;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<double> ready(kRanks, at_us + 100);
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int i = 0; i < 12; ++i) {
        const double longer = devices.Of(rank) * (rank < 4 ? 1 : data);
        const double for_us = (i % 3 == 2 ? 400 : 1500) * longer;
        const char* name = i % 3 == 0   ? "ampere_bf16_s16816gemm_bf16_tn"
                           : i % 3 == 1 ? "ampere_bf16_s16816gemm_bf16_nt"
                                        : "vectorized_elementwise_kernel<4, CUDAFunctor_add>";
        traces.Kernel(rank, name, 7, ready[static_cast<size_t>(rank)], for_us);
        ready[static_cast<size_t>(rank)] += for_us + 2;
      }
    }
    const double reduced = *std::max_element(ready.begin(), ready.end()) + 600;
    double end = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      const double began = ready[static_cast<size_t>(rank)];
      traces.Kernel(rank, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 20, began, reduced - began);
      const double for_us = 900 * devices.Of(rank) * (rank < 4 ? 1 : optimizer);
      traces.Kernel(rank, "multi_tensor_apply_kernel<FusedAdam>", 7, reduced + 2, for_us);
      end = std::max(end, reduced + 2 + for_us + 20);
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      traces.Add(rank, "cuda_runtime", "cudaStreamSynchronize", 0, at_us + 300, end - at_us - 305);
      traces.Step(rank, step, at_us, end - at_us);
    }
    at_us = end + 5;
  }
  return traces.Diagnose();
}

TEST(TracesOfTwoHosts, DevicesOfOneHostAreNamedAsTheHosts) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    const ProgramRun run = DataParallel(1.07, 1.05, seed);
    EXPECT_EQ(run.exit_code, kExitFindings) << run.out << run.err;
    EXPECT_THAT(Words(run.out), HasSubstr("The devices of host node1 are slow, on 4 of its 4"));
  }
}

TEST(TracesOfTwoHosts, HealthyDevicesAreNoFinding) {
  for (const unsigned seed : {1u, 2u, 3u}) {
    const ProgramRun run = DataParallel(1, 1, seed);
    EXPECT_EQ(run.exit_code, kExitNothingFound) << run.out << run.err;
  }
}

// Two stages, each on a host; rank i sends its activations to rank i + 4 in each of six
// micro-batches, which takes so long.
ProgramRun Pipeline(double send_us) {
  constexpr int kStage = 4;
  TraceWriter traces(2 * kStage);
  Devices devices(2 * kStage, 1);
  const auto args = [](const char* name, int source, int destination) {
    return fmt::format(
        R"("Collective name":"{}","In msg nelems":4194304,"dtype":"BFloat16","Group size":2,"Process Group Name":"pp{}","Process Group Ranks":"[{}, {}]","Src Rank":{},"Dst Rank":{})",
        name, source, source, destination, source, destination);
  };
  double at_us = 0;
  for (int step = 0; step < kSteps; ++step) {
    double end = 0;
    for (int source = 0; source < kStage; ++source) {
      const int destination = source + kStage;
      double first = at_us + 100, second = at_us + 100;
      for (int i = 0; i < 6; ++i) {
        const double computes_us = 2000 * devices.Of(source);
        traces.Kernel(source, "ampere_bf16_s16816gemm_bf16_tn", 7, first, computes_us);
        first += computes_us;
        const double sent = std::max(first, second) + send_us * devices.OfCall();
        const char* kernel = "ncclDevKernel_SendRecv(x)";
        traces.Kernel(source, kernel, 20, first, sent - first, args("send", source, destination));
        traces.Kernel(destination, kernel, 20, second, sent - second,
                      args("recv", source, destination));
        first = sent + 2;
        second = sent + 2;
        const double other_us = 2000 * devices.Of(destination);
        traces.Kernel(destination, "ampere_bf16_s16816gemm_bf16_tn", 7, second, other_us);
        second += other_us;
      }
      end = std::max(end, second + 20);
    }
    for (int rank = 0; rank < 2 * kStage; ++rank) {
      traces.Add(rank, "cuda_runtime", "cudaStreamSynchronize", 0, at_us + 300, end - at_us - 305);
      traces.Step(rank, step, at_us, end - at_us);
    }
    at_us = end + 5;
  }
  return traces.Diagnose();
}

// Sends of a fifth of the step may be those of a slow network, which durations do not show.
TEST(TracesOfTwoHosts, WhereStagesExchangeMuchASlowNetworkCannotBeRuledOut) {
  const ProgramRun run = Pipeline(600);
  EXPECT_EQ(run.exit_code, kExitCannotTell) << run.out << run.err;
  EXPECT_THAT(Words(run.out), HasSubstr("A rank is in receives from another host"));
}

TEST(TracesOfTwoHosts, WhereTheyExchangeLittleNothingIsFound) {
  const ProgramRun run = Pipeline(40);
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.out << run.err;
}

}  // namespace
}  // namespace eroica
