// The program against a real broker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "ops/cli/exit_code.h"
#include "ops/cli/program_run.h"
#include "tests/integration/test_broker.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

class ProgramKafkaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::optional<std::string> broker = SharedBroker();
    if (!broker) GTEST_SKIP() << kNoBrokerMessage;
    broker_ = *broker;
  }

  ProgramRun Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--bootstrap", broker_, "--topic-prefix", prefix_});
    return RunProgram(std::move(arguments));
  }

  std::string broker_;
  const std::string prefix_ = UniqueName("program");
};

TEST_F(ProgramKafkaTest, TopicsAreMissingThenCreatedThenAsPlanned) {
  const ProgramRun missing = Run({"topics", "check"});
  EXPECT_EQ(missing.exit_code, kExitError);
  EXPECT_THAT(missing.out, HasSubstr("there is no such topic"));
  EXPECT_EQ(Run({"topics", "create"}).exit_code, kExitNothingFound);
  const ProgramRun check = Run({"topics", "check"});
  EXPECT_EQ(check.exit_code, kExitNothingFound) << check.out << check.err;
  const ProgramRun different = Run({"topics", "check", "--set", "topics.events_partitions=3", "--set", "topics.findings_retention_ms=60000"});
  EXPECT_EQ(different.exit_code, kExitError);
  EXPECT_THAT(different.out, HasSubstr("the configuration says 3"));
  EXPECT_THAT(different.out, HasSubstr("retention.ms"));
}

TEST_F(ProgramKafkaTest, TooManyCopiesForTheClusterIsAnError) {
  const ProgramRun run = Run({"topics", "create", "--set", "topics.replication=3"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr(prefix_ + ".events"));
}

TEST_F(ProgramKafkaTest, FindingsOfATopicThatIsNotThereIsAnError) {
  const ProgramRun run = Run({"findings"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr(prefix_ + ".findings"));
}

TEST(ProgramWithoutBroker, ADeadBrokerIsNamedWithWhatToDo) {
  const ProgramRun run = RunProgram({"topics", "check", "--bootstrap", "127.0.0.1:9"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.err, HasSubstr("127.0.0.1:9"));
  EXPECT_THAT(run.err, HasSubstr("is the broker running"));
}

}  // namespace
}  // namespace eroica
