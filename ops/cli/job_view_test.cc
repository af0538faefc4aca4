// What `eroica top` reads of a node, against one that is served here.
#include "ops/cli/job_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "ops/rest/testing/shown_job.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class JobViewTest : public ::testing::Test {
 protected:
  void SetUp() override { Serve(); }
  void Serve() { server_ = *RestServer::Start(service_, {.tls = {}, .peers = {}, .limits = {}}); }
  JobViewReader Reader(const std::string& job = "") const {
    return JobViewReader(NodeClient(server_->url(), {}, [] { return true; }), job);
  }

  ShownJob job_;  // four ranks, of which rank 2 is slow
  RestService service_{job_.sources(), {.tokens = {}, .hosts = {}}};
  std::unique_ptr<RestServer> server_;
};

TEST_F(JobViewTest, HasStepsFindingsTheRankThatDeviatesAndWaits) {
  JobViewReader reader = Reader();
  const absl::StatusOr<JobView> view = reader.Read();
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->job.name, "night/7");
  EXPECT_EQ(view->job.newest_window, "steps-2");
  EXPECT_EQ(view->other_jobs, 0);
  EXPECT_FALSE(view->steps.empty());
  ASSERT_THAT(view->findings, SizeIs(1));
  EXPECT_EQ(view->findings[0].severity, Severity::kMajor);
  EXPECT_EQ(view->findings[0].title, "Rank 2 holds 3 other ranks up");
  EXPECT_EQ(view->findings_open, 1);
  EXPECT_EQ(view->ranks_shown, 4);
  ASSERT_FALSE(view->deviating.empty());
  EXPECT_EQ(view->deviating[0].rank, 2);
  EXPECT_GT(view->deviating[0].excess_ns, 0);
  ASSERT_FALSE(view->waits.empty());
  EXPECT_EQ(view->waits[0].waited_for, 2);
}

TEST_F(JobViewTest, AsJson) {
  JobViewReader reader = Reader("night/7");
  const nlohmann::json json = nlohmann::json::parse(ToJson(*reader.Read()));
  EXPECT_EQ(json.at("job").at("job"), "night/7");
  EXPECT_EQ(json.at("deviating").at(0).at("rank"), 2);
  EXPECT_EQ(json.at("findings").at(0).at("title"), "Rank 2 holds 3 other ranks up");
}

TEST_F(JobViewTest, HasWhatTransactionsHoldBack) {
  JobViewReader reader = Reader();
  EXPECT_THAT(reader.Read()->held, IsEmpty());
  StageProbe& stage = job_.node.stages["summarize"];
  stage.consumer.held_records = 5;
  stage.consumer.held_seconds = 31;
  const absl::StatusOr<JobView> view = reader.Read();
  ASSERT_TRUE(view.ok()) << view.status();
  ASSERT_THAT(view->held, SizeIs(1));
  EXPECT_EQ(view->held[0].stage, "summarize");
  EXPECT_EQ(view->held[0].records, 5);
  EXPECT_EQ(view->held[0].seconds, 31);
  const nlohmann::json json = nlohmann::json::parse(ToJson(*view));
  EXPECT_EQ(json.at("held").at(0).at("records"), 5);
  EXPECT_EQ(json.at("held").at(0).at("seconds"), 31);
  EXPECT_EQ(json.at("held").at(0).at("stage"), "summarize");
}

TEST_F(JobViewTest, AJobThatTheNodeDoesNotKnowIsNotFound) {
  const absl::Status status = Reader("nigt").Read().status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no job 'nigt'"));
}

TEST_F(JobViewTest, ANewWindowIsRead) {
  JobViewReader reader = Reader();
  ASSERT_TRUE(reader.Read().ok());
  job_.AddWindow(3);
  const absl::StatusOr<JobView> view = reader.Read();
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->job.newest_window, "steps-3");
  EXPECT_EQ(view->ranks_shown, 4);
}

TEST_F(JobViewTest, ANodeThatGoesIsUnavailableAndAnswersAgainWhenItIsBack) {
  JobViewReader reader = Reader();
  ASSERT_TRUE(reader.Read().ok());
  const uint16_t port = server_->port();
  server_ = nullptr;
  EXPECT_TRUE(absl::IsUnavailable(reader.Read().status()));
  server_ = *RestServer::Start(service_, {.port = port, .tls = {}, .peers = {}, .limits = {}});
  EXPECT_TRUE(reader.Read().ok());
}

}  // namespace
}  // namespace eroica
