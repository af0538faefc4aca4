#include "ops/alerts/firing_alerts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ops/findings/testing/findings_topic.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSeenMs = 1'700'000'000'000;

class FiringAlertsTest : public ::testing::Test {
 protected:
  void Add(const std::string& id, const std::string& job, Severity severity, double cost,
           int64_t seen_ms = kSeenMs) {
    Finding finding = FindingOf(id, FindingState::kOpened, severity);
    finding.job = JobId{job};
    finding.title = "Sentence of " + id;
    finding.lost_gpu_seconds_per_hour = cost;
    finding.first_seen_ns = seen_ms * 1'000'000;
    finding.last_seen_ns = finding.first_seen_ns;
    index_.Add({.finding = finding, .partition = 0, .offset = offset_++, .timestamp_ms = seen_ms});
  }
  nlohmann::json Json(int64_t now_ms = kSeenMs + 60'000) const {
    return nlohmann::json::parse(
        AlertsJson(AlertsOf(index_.Select({})), {}, now_ms, now_ms + 240'000));
  }

  FindingIndex index_{1'000'000};
  int64_t offset_ = 0;
};

TEST_F(FiringAlertsTest, FindingsOfOneJobKindAndSeverityAreOneAlert) {
  Add("a", "night", Severity::kMajor, 10, kSeenMs + 5'000);
  Add("b", "night", Severity::kMajor, 20, kSeenMs);
  Add("c", "night", Severity::kCritical, 1);
  Add("d", "day", Severity::kMajor, 1);
  const nlohmann::json alerts = Json();
  ASSERT_EQ(alerts.size(), 3U);
  for (const auto& alert : alerts) {
    EXPECT_EQ(alert["labels"].size(), 4U) << "no label of ranks, hosts or functions";
    EXPECT_EQ(alert["labels"]["alertname"], "EroicaFinding");
  }
  const auto night = std::find_if(alerts.begin(), alerts.end(), [](const nlohmann::json& alert) {
    return alert["labels"]["job"] == "night" && alert["labels"]["severity"] == "major";
  });
  ASSERT_NE(night, alerts.end());
  EXPECT_EQ((*night)["annotations"]["summary"], "Sentence of b") << "the most costly one";
  EXPECT_EQ((*night)["annotations"]["description"], "Sentence of b Sentence of a");
  EXPECT_EQ((*night)["annotations"]["findings"], "b a");
  EXPECT_FALSE((*night)["annotations"]["action"].get<std::string>().empty());
  EXPECT_EQ((*night)["startsAt"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ((*night)["endsAt"], "2023-11-14T22:18:20.000Z");
}

TEST_F(FiringAlertsTest, ManyFindingsAreCountedAndTheFirstOnesNamed) {
  for (int i = 0; i < 9; ++i) Add("f" + std::to_string(i), "night", Severity::kMajor, i);
  EXPECT_THAT(Json()[0]["annotations"]["description"].get<std::string>(),
              HasSubstr("Sentence of f4 And 4 more."));
}

TEST_F(FiringAlertsTest, ClocksThatAreAheadAndHostileNamesMakeAValidAlert) {
  Add("a", "night\x1b[2J\xff", Severity::kMajor, 1, kSeenMs + 3'600'000);
  const nlohmann::json alert = Json(kSeenMs)[0];
  EXPECT_LT(alert["startsAt"].get<std::string>(), alert["endsAt"].get<std::string>());
  EXPECT_THAT(alert["labels"]["job"].get<std::string>(), HasSubstr("\\x1b"));
  const FiringAlerts firing = AlertsOf(index_.Select({}));
  const nlohmann::json ended = nlohmann::json::parse(AlertsJson({}, firing, kSeenMs, 0))[0];
  EXPECT_LT(ended["startsAt"].get<std::string>(), ended["endsAt"].get<std::string>());
}

}  // namespace
}  // namespace eroica
