// A simulated job through a real broker: sent by eroica-lab simulate, diagnosed by a node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "ops/cli/exit_code.h"
#include "tests/evaluation/lab/lab_run.h"
#include "tests/integration/slow_gpu_scenario.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

class SimulateKafkaTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SimulateKafkaTest, ASlowGpuAmong64IsFound) {
  const std::optional<std::string> broker = SharedBroker();
  if (!broker) GTEST_SKIP() << kNoBrokerMessage;
  const std::vector<std::string> place = {"--bootstrap", *broker, "--topic-prefix",
                                          UniqueName("simulate")};
  const auto here = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), place.begin(), place.end());
    return arguments;
  };
  const auto run = [&](std::vector<std::string> arguments) {
    return RunProgram(here(std::move(arguments)));
  };
  const ScratchDirectory folder;
  const std::string scenario = WriteSlowGpuScenario(folder);
  ASSERT_EQ(run({"topics", "create"}).exit_code, kExitNothingFound);
  const ProgramRun simulated =
      RunLab(here({"simulate", scenario, "--steps", "12", "--level", GetParam(), "--json"}));
  ASSERT_EQ(simulated.exit_code, kExitNothingFound) << simulated.err;
  EXPECT_EQ(nlohmann::json::parse(simulated.out).at("steps"), 12);
  const ProgramRun node = run({"node", "--drain", "--state", folder.path() + "/state"});
  ASSERT_EQ(node.exit_code, kExitNothingFound) << node.err;

  const ProgramRun findings = run({"findings", "--json"});
  EXPECT_EQ(findings.exit_code, kExitFindings) << findings.err;
  std::set<int> blamed;
  size_t begin = 0;
  for (size_t end = findings.out.find('\n'); end != std::string::npos;
       begin = end + 1, end = findings.out.find('\n', begin)) {
    const nlohmann::json finding = nlohmann::json::parse(findings.out.substr(begin, end - begin));
    for (const nlohmann::json& culprit : finding.at("culprits"))
      blamed.insert(culprit.at("rank").get<int>());
  }
  EXPECT_EQ(blamed, std::set<int>{21}) << findings.out;
}

INSTANTIATE_TEST_SUITE_P(Levels, SimulateKafkaTest, ::testing::Values("1", "2"),
                         [](const auto& level) { return std::string("Level") + level.param; });

}  // namespace
}  // namespace eroica
