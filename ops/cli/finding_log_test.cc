#include "ops/cli/finding_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>

#include "schemas/codec.h"
#include "schemas/test_encoder.h"
#include "state_store/in_memory_store.h"
#include "state_store/key_schema.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Finding SlowRank(FindingState state, const char* id = "f1") {
  Finding finding;
  finding.id = id;
  finding.job = JobId{"night"};
  finding.severity = Severity::kMajor;
  finding.state = state;
  finding.title = "Rank 3 is slow.";
  return finding;
}

// With the log's lines in a string, at info level.
class FindingLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = spdlog::default_logger();
    auto logger = std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_));
    logger->set_pattern("%v");
    logger->set_level(spdlog::level::info);
    spdlog::set_default_logger(logger);
  }
  void TearDown() override { spdlog::set_default_logger(before_); }
  std::string Take() {
    std::string text = lines_.str();
    lines_.str("");
    return text;
  }

  std::shared_ptr<spdlog::logger> before_;
  std::ostringstream lines_;
  FindingLog::TimePoint now_ = FindingLog::TimePoint() + std::chrono::hours(1);
  FindingLog log_{now_};
};

TEST_F(FindingLogTest, ALineWhenItOpensAndWhenItIsResolvedAndNoneForUpdates) {
  log_.Published(SlowRank(FindingState::kOpened));
  EXPECT_EQ(Take(),
            "finding: opened severity=major id=f1 job=\"night\" title=\"Rank 3 is slow.\"\n");
  log_.Published(SlowRank(FindingState::kUpdated));
  EXPECT_THAT(Take(), IsEmpty());
  log_.Published(SlowRank(FindingState::kResolved));
  EXPECT_THAT(Take(), HasSubstr("finding: resolved severity=major id=f1"));
}

TEST_F(FindingLogTest, SaysHowItGetsOnAtMostOnceAMinuteAndOnlyIfSomethingChanged) {
  std::map<std::string, StageProbe> probes;
  probes["diagnose"].records_processed = 8;
  log_.Published(SlowRank(FindingState::kOpened));
  Take();
  log_.Progress(probes, now_ + seconds(59));
  EXPECT_THAT(Take(), IsEmpty());
  log_.Progress(probes, now_ + seconds(60));
  EXPECT_EQ(Take(), "node: processed diagnose=8 findings_open=1 opened=1 resolved=0\n");
  log_.Progress(probes, now_ + seconds(300));
  EXPECT_THAT(Take(), IsEmpty()) << "nothing has changed";
  probes["diagnose"].records_processed = 9;
  log_.Progress(probes, now_ + seconds(310));
  EXPECT_THAT(Take(), IsEmpty());
  log_.Progress(probes, now_ + seconds(360));
  EXPECT_THAT(Take(), HasSubstr("diagnose=9"));
}

TEST(DrainOutcome, SaysHowManyFindingsAndWhatToTypeNext) {
  NodeConfig config;
  config.node.recording = "night/";
  MemoryLog log;
  ASSERT_TRUE(log.admin()
                  .CreateTopic({.name = TopicName(config.node.topic_prefix, Topic::kPatterns)})
                  .ok());
  InMemoryStore store;
  const absl::StatusOr<std::string> none = DrainOutcome(log, store, config, {});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_THAT(*none, Not(HasSubstr("eroica findings")));
  TestEncoder encoder;
  StateChanges changes;
  for (const FindingState state : {FindingState::kOpened, FindingState::kResolved}) {
    const Finding finding = SlowRank(state, state == FindingState::kOpened ? "f1" : "f2");
    const Bytes bytes = encoder.Encode(finding);
    changes.Put(Table::kFindings, EncodeKey(FindingKey{.job = finding.job, .finding = finding.id}),
                {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  ASSERT_TRUE(store.Write(changes).ok());
  const absl::StatusOr<std::string> two = DrainOutcome(log, store, config, {});
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(*two, "2 findings, 1 open. See them: `eroica findings --recording night/`");
}

}  // namespace
}  // namespace eroica
