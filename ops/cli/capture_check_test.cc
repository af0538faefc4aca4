#include "ops/cli/capture_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string_view>

#include "ops/cli/machine_facts.h"
#include "schemas/testing/not_empty.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A machine on which nothing is missing, and the variables of its user.
class CaptureCheckTest : public ::testing::Test {
 protected:
  CaptureCheckTest() {
    facts_.files = ProducerFiles{.core = "/lib/libproducer_core.so",
                                 .folder = "/lib",
                                 .cupti = "/lib/liberoica_cupti.so",
                                 .nccl = "/lib/libnccl-profiler-eroica.so",
                                 .python = "/python",
                                 .zero_code = "/python/zero_code"};
    facts_.place = "/scratch";
    facts_.place_free_bytes = uint64_t{100} << 30;
    facts_.python = {.path = "/bin/python3", .major = 3, .minor = 12, .torch = "2.7.0"};
    facts_.has_sampler = true;
    facts_.libcupti = "/cuda/libcupti.so.12";
    facts_.libnccl = "/lib/libnccl.so.2";
    facts_.schedstat = facts_.proc_stat = facts_.pressure = facts_.context_switches = true;
    facts_.network_ports = {"eth0", "mlx5_0"};
    facts_.gpus = 8;
    facts_.variable = [this](const std::string& name) -> std::optional<std::string> {
      const auto it = variables_.find(name);
      return it == variables_.end() ? std::nullopt : std::optional<std::string>(it->second);
    };
  }

  SourceCheck Of(std::string_view source) const {
    for (SourceCheck& check : CheckSources(facts_)) {
      if (check.source == source) return check;
    }
    ADD_FAILURE() << "no source " << source;
    return {};
  }
  bool Can() const { return CanCapture(CheckSources(facts_)); }
  void ExpectMissing(std::string_view source, std::string_view why) const {
    const SourceCheck check = Of(source);
    EXPECT_EQ(ToString(check.capture), "no") << source;
    EXPECT_THAT(check.why, HasSubstr(std::string(why)));
  }

  MachineFacts facts_;
  std::map<std::string, std::string> variables_;
};

TEST_F(CaptureCheckTest, EverythingThere) {
  for (const SourceCheck& check : NotEmpty(CheckSources(facts_))) {
    EXPECT_EQ(check.capture, Capture::kYes) << check.source << ": " << check.why;
    EXPECT_THAT(check.why, Not(IsEmpty())) << check.source;
    EXPECT_THAT(check.to_do, IsEmpty()) << check.source;
  }
  EXPECT_TRUE(Can());
}

TEST_F(CaptureCheckTest, AMachineWithoutAnything) {
  facts_ = MachineFacts{};
  for (const SourceCheck& check : NotEmpty(CheckSources(facts_)))
    EXPECT_THAT(check.source, Not(IsEmpty()));
  EXPECT_FALSE(Can());
}

TEST_F(CaptureCheckTest, WithoutTheCoreNothingIsCaptured) {
  facts_.core_error = "libabsl_status.so: cannot open shared object file";
  ExpectMissing("core", "libabsl_status.so");
  EXPECT_FALSE(Can());
}

TEST_F(CaptureCheckTest, TheKillSwitchIsSeen) {
  variables_["EROICA_DISABLE"] = "1";
  ExpectMissing("core", "EROICA_DISABLE=1");
  EXPECT_FALSE(Can());
  variables_["EROICA_DISABLE"] = "0";
  EXPECT_TRUE(Can());
}

TEST_F(CaptureCheckTest, APlaceThatCannotBeWritten) {
  facts_.place_error = "Read-only file system";
  ExpectMissing("recording", "Read-only file system");
  EXPECT_FALSE(Can());
}

TEST_F(CaptureCheckTest, LittleSpaceIsSaidAndNoObstacle) {
  facts_.place_free_bytes = 1 << 20;
  EXPECT_EQ(Of("recording").capture, Capture::kPartly);
  EXPECT_TRUE(Can());
}

TEST_F(CaptureCheckTest, PythonFrom39To315) {
  const std::map<int, Capture> expected = {
      {8, Capture::kNo}, {9, Capture::kYes}, {15, Capture::kYes}, {16, Capture::kNo}};
  for (const auto& [minor, capture] : expected) {
    facts_.python.minor = minor;
    EXPECT_EQ(Of("python").capture, capture) << minor;
    EXPECT_EQ(Of("stacks").capture, capture) << minor;
  }
  facts_.python.minor = 12;
  facts_.python.major = 2;
  ExpectMissing("python", "2.12");
}

TEST_F(CaptureCheckTest, WithoutContextSwitchesTimesOfWaitsAreEstimated) {
  facts_.context_switches = false;
  EXPECT_EQ(Of("stacks").capture, Capture::kPartly);
  EXPECT_THAT(Of("stacks").to_do, HasSubstr("perf_event_paranoid"));
  EXPECT_TRUE(Can());
}

TEST_F(CaptureCheckTest, ReasonsOfPython) {
  facts_.python.import_error = "SyntaxError: invalid syntax";
  ExpectMissing("python", "SyntaxError");
  facts_.has_sampler = false;
  ExpectMissing("python", "liberoica_python.so");
  facts_.python.error = "did not answer within 20 s";
  ExpectMissing("python", "20 s");
  facts_.python = {};
  ExpectMissing("python", "no python3 on PATH");
  ExpectMissing("pytorch", "needs Python");
}

// Collectives alone are enough to find a straggler by.
TEST_F(CaptureCheckTest, PythonOrNcclIsEnough) {
  facts_.python = {};
  EXPECT_TRUE(Can());
  facts_.libnccl = "";
  EXPECT_FALSE(Can());
}

TEST_F(CaptureCheckTest, WithoutPytorchTheScriptCountsItsSteps) {
  facts_.python.torch = "";
  ExpectMissing("pytorch", "eroica.step()");
  EXPECT_EQ(Of("python").capture, Capture::kYes);
}

TEST_F(CaptureCheckTest, ReasonsOfCupti) {
  facts_.libcupti = "";
  ExpectMissing("cupti", "no libcupti");
  facts_.python.cuda_libraries = {"/site/nvidia/nccl/lib/libnccl.so.2",
                                  "/site/nvidia/cuda_cupti/lib/libcupti.so.12"};
  EXPECT_EQ(Of("cupti").capture, Capture::kPartly);
  EXPECT_EQ(Of("cupti").to_do, "EROICA_CUPTI_LIBRARY=/site/nvidia/cuda_cupti/lib/libcupti.so.12");
  facts_.driver_error = "libcuda.so.1: cannot open shared object file";
  ExpectMissing("cupti", "libcuda.so.1");
  facts_.files->cupti = "";
  ExpectMissing("cupti", "was not built");
}

TEST_F(CaptureCheckTest, AnotherToolInTheUsersVariables) {
  variables_["CUDA_INJECTION64_PATH"] = "/nsight/libToolsInjection64.so";
  variables_["NCCL_PROFILER_PLUGIN"] = "inspector";
  ExpectMissing("cupti", "libToolsInjection64.so");
  ExpectMissing("nccl", "inspector");
}

TEST_F(CaptureCheckTest, OurOwnLibrariesInThemAreNoOtherTool) {
  variables_["CUDA_INJECTION64_PATH"] = facts_.files->cupti;
  variables_["NCCL_PROFILER_PLUGIN"] = "eroica";
  EXPECT_EQ(Of("cupti").capture, Capture::kYes);
  EXPECT_EQ(Of("nccl").capture, Capture::kYes);
}

TEST_F(CaptureCheckTest, NcclOfPythonsPackagesCounts) {
  facts_.libnccl = "";
  facts_.python.cuda_libraries = {"/site/nvidia/nccl/lib/libnccl.so.2"};
  EXPECT_THAT(Of("nccl").why, HasSubstr("/site/nvidia/nccl/lib/libnccl.so.2"));
  EXPECT_EQ(Of("nccl").capture, Capture::kYes);
  facts_.driver_error = "libcuda.so.1: cannot open shared object file";
  ExpectMissing("nccl", "driver");
}

TEST_F(CaptureCheckTest, AContainerThatHidesSomeOfTheHost) {
  facts_.pressure = false;
  EXPECT_EQ(Of("host").capture, Capture::kPartly);
  EXPECT_THAT(Of("host").why, HasSubstr("/proc/pressure"));
  facts_.schedstat = facts_.proc_stat = false;
  facts_.network_ports.clear();
  EXPECT_EQ(Of("host").capture, Capture::kNo);
}

TEST_F(CaptureCheckTest, KafkaTakesThePlaceOfTheRecording) {
  facts_.place_error = "Read-only file system";
  facts_.kafka = "broker:9092";
  EXPECT_EQ(Of("kafka").capture, Capture::kYes);
  EXPECT_TRUE(Can());
  facts_.topic_problems = {"there is no topic eroica.events", "there is no topic eroica.patterns"};
  ExpectMissing("kafka", "eroica.events; there is no topic eroica.patterns");
  EXPECT_EQ(Of("kafka").to_do, "eroica topics create --bootstrap broker:9092");
  facts_.kafka_error = "timed out";
  ExpectMissing("kafka", "timed out");
  EXPECT_FALSE(Can());
}

TEST_F(CaptureCheckTest, LaunchersAsTheCoreReadsThem) {
  variables_ = {{"SLURM_JOB_ID", "77"}};
  EXPECT_THAT(Of("launcher").why, HasSubstr("Slurm job 77"));
  variables_["SLURM_PROCID"] = "3";
  variables_["SLURM_NTASKS"] = "8";
  EXPECT_THAT(Of("launcher").why, HasSubstr("SLURM_PROCID says rank 3 of 8"));
  variables_["RANK"] = "5";
  EXPECT_THAT(Of("launcher").why, HasSubstr("torchrun: RANK says rank 5"));
}

TEST(PythonAnswer, WhatIsNotAnAnswerIsAnError) {
  for (const char* answer : {"", "{", "[]", "{}", R"({"major": "3", "minor": 12})",
                             "hello\n{\"major\": 3, \"minor\": 12}"}) {
    EXPECT_THAT(ParsePythonAnswer("/bin/python3", answer).error, Not(IsEmpty())) << answer;
  }
  const PythonFacts facts = ParsePythonAnswer(
      "/bin/python3",
      R"({"path": "/opt/python3.12", "major": 3, "minor": 12, "error": "", "torch": null, "libraries": ["/a", 5]})");
  EXPECT_THAT(facts.error, IsEmpty());
  EXPECT_EQ(facts.path, "/opt/python3.12");
  EXPECT_EQ(facts.minor, 12);
  EXPECT_THAT(facts.torch, IsEmpty());
  EXPECT_EQ(facts.cuda_libraries, std::vector<std::string>{"/a"});
}

}  // namespace
}  // namespace eroica
