// `eroica findings` and the log of a node over a real broker, which dies and comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "tests/evaluation/lab/lab_run.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

bool Has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

class FindingsKafkaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!SharedBroker()) GTEST_SKIP() << kNoBrokerMessage;
  }

  std::vector<std::string> Over(const OwnBroker& broker, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--bootstrap", broker.address()});
    return arguments;
  }
  void Simulate(const OwnBroker& broker, const std::string& job) {
    const ProgramRun run =
        RunLab(Over(broker, {"simulate", "tests/scenarios/dev/gpu_slow_dp_8r.toml", "--job", job}));
    EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  }

  ScratchDirectory folder_;
};

TEST_F(FindingsKafkaTest, NoTopicsNoNodeAndNoSuchJobAreToldApart) {
  OwnBroker broker;
  ASSERT_FALSE(broker.address().empty());
  const ProgramRun no_topics =
      RunLab(Over(broker, {"simulate", "tests/scenarios/dev/gpu_slow_dp_8r.toml"}));
  EXPECT_EQ(no_topics.exit_code, kExitError);
  EXPECT_THAT(no_topics.err, AllOf(HasSubstr("there is no topic eroica.events"),
                                   HasSubstr("eroica topics create --bootstrap")));
  ASSERT_EQ(RunProgram(Over(broker, {"topics", "create"})).exit_code, kExitNothingFound);
  Simulate(broker, "night");
  const ProgramRun no_node = RunProgram(Over(broker, {"findings"}));
  EXPECT_EQ(no_node.exit_code, kExitCannotTell) << no_node.err;
  EXPECT_THAT(no_node.out, HasSubstr("no node has run over"));
  const ProgramRun node =
      RunProgram(Over(broker, {"node", "--drain", "--state", folder_.path() + "/state"}));
  ASSERT_EQ(node.exit_code, kExitNothingFound) << node.err;
  EXPECT_THAT(node.err, AllOf(HasSubstr("finding: opened severity="),
                              HasSubstr("See it: `eroica findings --bootstrap")));
  EXPECT_EQ(RunProgram(Over(broker, {"findings", "--job", "night"})).exit_code, kExitFindings);
  const ProgramRun no_job = RunProgram(Over(broker, {"findings", "--job", "nigt"}));
  EXPECT_EQ(no_job.exit_code, kExitCannotTell) << no_job.err;
  EXPECT_THAT(no_job.out, HasSubstr("did you mean 'night'?"));
}

TEST_F(FindingsKafkaTest, FollowingSaysWhenTheBrokerIsGoneAndWhenItIsBack) {
  OwnBroker broker;
  ASSERT_FALSE(broker.address().empty());
  ASSERT_EQ(RunProgram(Over(broker, {"topics", "create"})).exit_code, kExitNothingFound);
  Program node(Over(broker, {"node", "--state", folder_.path() + "/state"}));
  Program follow(Over(broker, {"findings", "--follow"}));
  ASSERT_TRUE(Await([&] { return Has(follow.ErrSoFar(), "following"); })) << follow.ErrSoFar();
  ASSERT_TRUE(Await([&] { return Has(node.ErrSoFar(), "node: running"); })) << node.ErrSoFar();
  broker.Kill();
  ASSERT_TRUE(Await([&] { return Has(follow.ErrSoFar(), "the log does not answer"); }));
  ASSERT_TRUE(broker.Restart());
  ASSERT_TRUE(Await([&] { return Has(follow.ErrSoFar(), "the log answers again"); }));
  Simulate(broker, "night");
  EXPECT_TRUE(Await([&] { return Has(follow.OutSoFar(), "\n  job         night\n"); }))
      << follow.OutSoFar() << node.ErrSoFar();
  follow.Signal(SIGINT);
  EXPECT_EQ(follow.Wait().exit_code, kExitFindings);
  node.Signal(SIGINT);
  const ProgramRun ended = node.Wait();
  EXPECT_EQ(ended.exit_code, kExitNothingFound) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("goes on after"), HasSubstr("finding: opened severity=")));
}

}  // namespace
}  // namespace eroica
