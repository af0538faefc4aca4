#include "ops/cli/listed_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ops/rest/testing/shown_job.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Finding FindingOf(const std::string& job, Severity severity,
                  FindingState state = FindingState::kOpened) {
  Finding finding;
  finding.job = JobId(job);
  finding.severity = severity;
  finding.state = state;
  finding.world_size = 4;
  finding.ranks_seen = 3;
  return finding;
}

std::vector<ListedJob> Jobs() {
  KnownJobs known{.node_has_run = true};
  known.jobs["night"] = {.last_window = 23,
                         .watermark_ms = 1'700'000'000'000,
                         .world_size = 8,
                         .ranks_seen = 7,
                         .step_ns = 148e6};
  known.jobs["done"] = {.last_window = 3, .of_steps = false, .ended = true};
  known.jobs["young"] = {};
  const std::vector<Finding> findings = {
      FindingOf("night", Severity::kMajor), FindingOf("night", Severity::kMajor),
      FindingOf("night", Severity::kCritical, FindingState::kResolved),
      FindingOf("gone", Severity::kCritical)};
  std::vector<ListedJob> jobs = ListJobs(known, findings);
  SortByGravity(&jobs);
  return jobs;
}

TEST(ListedJob, TheGravestFirstEachWithItsState) {
  std::vector<std::string> states;
  for (const ListedJob& job : Jobs()) states.push_back(job.name + " " + job.state);
  EXPECT_THAT(states,
              ElementsAre("gone forgotten", "night running", "done ended", "young undiagnosed"));
}

TEST(ListedJob, AsJson) {
  const std::vector<ListedJob> jobs = Jobs();
  const nlohmann::json night = nlohmann::json::parse(ToJson(jobs[1]));
  EXPECT_EQ(night.at("newest_window"), "steps-23");
  EXPECT_EQ(night.at("watermark"), "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(night.at("open_findings").at("major"), 2);
  EXPECT_EQ(night.at("open_findings").at("critical"), 0) << "that one is resolved";
  const nlohmann::json gone = nlohmann::json::parse(ToJson(jobs[0]));
  EXPECT_TRUE(gone.at("newest_window").is_null());
  EXPECT_EQ(gone.at("world_size"), 4);
  EXPECT_EQ(nlohmann::json::parse(ToJson(jobs[2])).at("newest_window"), "time-3");
}

TEST(ListedJob, ATableCutsLongNamesAndShowsNoControlCharacter) {
  std::vector<ListedJob> jobs = Jobs();
  jobs[0].name = "x\n\x1b[2J" + std::string(3'000, 'y');
  const std::string table = JobTable(jobs, 100);
  EXPECT_THAT(table, HasSubstr("7 of 8"));
  EXPECT_THAT(table, HasSubstr("2 major"));
  EXPECT_THAT(table, HasSubstr("..."));
  std::istringstream lines(table);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_EQ(line, Printable(line));
    EXPECT_LE(CharacterCount(line), 100) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  EXPECT_EQ(count, jobs.size() + 1);
}

TEST(ListedJob, OfANode) {
  ShownJob shown;
  RestService service(shown.sources(), {.tokens = {}, .hosts = {}});
  const auto server = *RestServer::Start(service, {.tls = {}, .peers = {}, .limits = {}});
  const NodeClient client(server->url(), {}, [] { return true; });
  const absl::StatusOr<NodeJobs> found = ListJobs(client);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_THAT(found->jobs, SizeIs(1));
  const ListedJob& job = found->jobs[0];
  EXPECT_EQ(job.name, "night/7");
  EXPECT_EQ(job.state, "running");
  EXPECT_EQ(job.world_size, 4);
  EXPECT_EQ(job.newest_window, "steps-2");
  EXPECT_EQ(job.watermark_ms, 1'700'000'000'002);
  EXPECT_EQ(job.open_findings[static_cast<size_t>(Severity::kMajor)], 1);
}

}  // namespace
}  // namespace eroica
