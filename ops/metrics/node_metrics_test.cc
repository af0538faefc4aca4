#include "ops/metrics/node_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "ops/config/text_file.h"
#include "ops/metrics/metric_table.h"
#include "ops/rest/testing/shown_job.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

class NodeMetricsTest : public ::testing::Test {
 protected:
  std::string Metrics() {
    const RestSources sources = job_.sources();
    ServerProbe http;
    http.responses = {{200, 7}, {404, 1}};
    return NodeMetrics({.node = job_.node,
                        .board = sources.board,
                        .findings = sources.findings,
                        .http = http,
                        .state = StoreMeasures{.live_bytes = 5}});
  }

  ShownJob job_;
};

TEST_F(NodeMetricsTest, ShowsWhatTheNodeCounted) {
  StageProbe& diagnose = job_.node.stages["diagnose"];
  diagnose.records_received = 12;
  diagnose.consumer.lag_records = 34;
  diagnose.events_unused[DropReason::kLate] = 78;
  diagnose.producer.queued_bytes = 56;
  diagnose.dead_letters[DropReason::kWrongIdentifier] = 3;
  const std::string text = Metrics();
  EXPECT_THAT(text, HasSubstr("eroica_stage_records_received_total{stage=\"diagnose\"} 12\n"));
  EXPECT_THAT(text, HasSubstr("eroica_stage_records_dropped_total{stage=\"diagnose\","
                              "what=\"dead_letter\",reason=\"wrong_identifier\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("eroica_stage_events_unused_total{stage=\"diagnose\","
                              "reason=\"late\"} 78\n"));
  EXPECT_THAT(text, HasSubstr("eroica_stage_lag_records{stage=\"diagnose\"} 34\n"));
  EXPECT_THAT(text, HasSubstr("eroica_kafka_queued_bytes{stage=\"diagnose\","
                              "client=\"producer\"} 56\n"));
  EXPECT_THAT(text, HasSubstr("eroica_findings_open{kind=\"slow_rank\",severity=\"major\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("eroica_findings_open{kind=\"hang\",severity=\"critical\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("eroica_windows_diagnosed_total 3\n"));
  EXPECT_THAT(text, HasSubstr("eroica_windows_diagnosed_early_total 0\n"));
  EXPECT_THAT(text, HasSubstr("eroica_events_total{outcome=\"used\"} 12000\n"));
  EXPECT_THAT(text, HasSubstr("eroica_jobs{state=\"running\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("eroica_http_responses_total{code=\"404\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE eroica_window_to_finding_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr("eroica_window_to_finding_seconds_count 3\n"));
}

TEST_F(NodeMetricsTest, AFindingOfAJobThatIsOverWakesNobody) {
  job_.EndJob();
  EXPECT_THAT(Metrics(),
              HasSubstr("eroica_findings_open{kind=\"slow_rank\",severity=\"major\"} 0\n"));
}

TEST_F(NodeMetricsTest, EveryMetricIsDeclaredShownAndNamedByPrometheusRules) {
  job_.node.stages["diagnose"].dead_letters[DropReason::kWrongIdentifier] = 3;
  job_.node.stages["diagnose"].consumer.lag_records = 0;
  job_.node.stages["diagnose"].events_unused[DropReason::kLate] = 1;
  const std::string text = Metrics();
  std::set<std::string> names;
  for (int i = 0; i < kMetricCount; ++i) {
    const MetricDeclaration& metric = DeclarationOf(static_cast<Metric>(i));
    const std::string name(metric.name);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_THAT(text, HasSubstr("# HELP " + name + " ")) << "declared and not shown";
    EXPECT_EQ(name.ends_with("_total"), metric.kind == MetricKind::kCounter) << name;
    EXPECT_FALSE(metric.help.empty());
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# TYPE ", 0) != 0) continue;
    const std::string name = line.substr(7, line.find(' ', 7) - 7);
    EXPECT_EQ(names.erase(name), 1U) << name << " is shown and not declared, or twice";
  }
}

// Alerting rules and Grafana's dashboard ask for nothing that no node shows.
TEST(MetricUsersTest, AskForDeclaredMetricsOnly) {
  std::set<std::string> declared;
  for (int i = 0; i < kMetricCount; ++i) {
    const MetricDeclaration& metric = DeclarationOf(static_cast<Metric>(i));
    declared.emplace(metric.name);
    if (metric.kind == MetricKind::kHistogram)
      declared.insert(std::string(metric.name) + "_bucket");
  }
  const std::regex name("\\b(?:eroica|process)_[a-z0-9_]+");
  for (const char* file : {"ops/metrics/alerts.yml", "ops/metrics/grafana.json"}) {
    const auto text = ReadTextFile(file);
    ASSERT_TRUE(text.ok()) << text.status();
    size_t asked = 0;
    for (std::sregex_iterator used(text->begin(), text->end(), name), end; used != end; ++used) {
      EXPECT_TRUE(declared.contains(used->str())) << file << ": " << used->str();
      ++asked;
    }
    EXPECT_GT(asked, 8U) << file;
  }
}

TEST(MetricReferenceTest, IsThePageInTheDocumentation) {
  const auto page = ReadTextFile("docs/reference/metrics.md");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(*page, MetricReference()) << "run: eroica node --print-metrics-reference";
}

}  // namespace
}  // namespace eroica
