// `eroica diagnose` over captures as people make them: of simulated jobs, so that the culprit is
// known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ops/cli/diagnosed_lines.h"
#include "ops/cli/exit_code.h"
#include "tests/evaluation/lab/lab_run.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr double kMicrosecondsPerNs = 1e-3;

class CaptureProgramTest : public testing::Test {
 protected:
  std::string Simulated(const std::string& scenario, const std::string& steps) {
    const std::string traces = folder_.path() + "/traces";
    const ProgramRun run =
        RunLab({"simulate", scenario, "--chrome", traces, "--job", "capture", "--steps", steps});
    EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
    return traces;
  }
  std::string Scenario(const std::string& text) {
    const std::string path = folder_.path() + "/scenario.toml";
    std::ofstream(path) << text;
    return path;
  }
  ScratchDirectory folder_;
};

std::string SlowDevice(int first_step) {
  return R"(
family = "gpu slow"
about = "The device of rank 5 becomes a fifth slower."
steps = 48
[layout]
data = 8
[workload]
layers = 8
micro_batches = 2
[[fault]]
kind = "gpu_slow"
ranks = 5
severity = 0.2
first_step = )" +
         std::to_string(first_step) +
         R"(
[[expect]]
kinds = ["slow_rank", "contention"]
ranks = 5
)";
}

json FindingsOf(const std::string& traces) {
  const ProgramRun run = RunProgram({"diagnose", traces, "--json"});
  json findings = DiagnosedLines(run.out).at("findings");
  for (json& finding : findings) {
    finding.erase("emitted_at");
    finding.erase("emitted_at_ns");
  }
  return findings;
}

// Of 48 steps the last 12, of 12 the last five: not lost among those before.
TEST_F(CaptureProgramTest, AFaultIsFoundFromWhereItBegins) {
  for (const auto& [steps, first] : {std::pair("48", 36), std::pair("12", 7)}) {
    const json findings = FindingsOf(Simulated(Scenario(SlowDevice(first)), steps));
    ASSERT_EQ(findings.size(), 1u) << steps;
    EXPECT_EQ(findings[0].at("culprits").at(0).at("rank"), 5);
    EXPECT_EQ(findings[0].at("steps").at("first"), first);
    fs::remove_all(folder_.path() + "/traces");
  }
}

// As PyTorch writes what batch_isend_irecv sends: the kernel says nothing of it, and the CPU's
// records, of the training thread, lie before its launch.
class BatchedTrace {
 public:
  explicit BatchedTrace(const json& trace) : trace_(trace) {
    for (const json& event : trace.at("traceEvents")) {
      if (event.value("name", "").starts_with("ProfilerStep#")) thread_ = &event;
    }
  }
  json Write() {
    json events = json::array();
    for (json event : trace_.at("traceEvents")) {
      const json args = event.value("args", json::object());
      const std::string operation = args.value("Collective name", "");
      if (operation == "send" || operation == "recv") {
        Launch(event.at("ts").get<double>(), args, operation == "send", &events);
        event["name"] = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
        event["args"] = {{"device", args.at("device")},
                         {"stream", args.at("stream")},
                         {"correlation", launches_}};
      }
      events.push_back(std::move(event));
    }
    json written = trace_;
    written["traceEvents"] = std::move(events);
    return written;
  }

 private:
  void Launch(double kernel_us, json args, bool sends, json* events) {
    now_us_ = std::max(kernel_us - 10 * kMicrosecondsPerNs, now_us_ + kMicrosecondsPerNs);
    for (const char* key : {"device", "stream", "Seq", sends ? "Src Rank" : "Dst Rank"})
      args.erase(key);
    events->push_back(OnThread("cpu_op", "record_param_comms", std::move(args)));
    now_us_ += 2 * kMicrosecondsPerNs;
    events->push_back(
        OnThread("cuda_runtime", "cudaLaunchKernelExC", {{"correlation", ++launches_}}));
  }
  json OnThread(const char* category, const char* name, json args) const {
    return {{"ph", "X"},
            {"cat", category},
            {"name", name},
            {"pid", thread_->at("pid")},
            {"tid", thread_->at("tid")},
            {"ts", now_us_},
            {"dur", kMicrosecondsPerNs},
            {"args", std::move(args)}};
  }

  const json& trace_;
  const json* thread_ = nullptr;
  double now_us_ = 0;
  int launches_ = 0;
};

TEST_F(CaptureProgramTest, BatchedSendsAndReceivesShowThePipeline) {
  const std::string stated =
      Simulated("tests/scenarios/dev/stage_imbalance_drawn_moe_pp_dp_32r.toml", "8");
  const std::string batched = folder_.path() + "/batched";
  fs::create_directory(batched);
  for (const fs::directory_entry& file : fs::directory_iterator(stated)) {
    const json trace = json::parse(std::ifstream(file.path()));
    std::ofstream(fs::path(batched) / file.path().filename()) << BatchedTrace(trace).Write();
  }
  const json findings = FindingsOf(batched);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].at("title"),
              HasSubstr("ranks 8, 9, 10, 11, 12, 13, 14, 15) is too heavy"));
  EXPECT_EQ(findings[0].at("title"), FindingsOf(stated).at(0).at("title"));
}

}  // namespace
}  // namespace eroica
