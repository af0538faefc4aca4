#include "ops/metrics/node_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ops/metrics/testing/declared_metrics.h"
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
  diagnose.consumer.held_records = 5;
  diagnose.consumer.held_seconds = 31;
  diagnose.records_unreadable = 40;
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
  EXPECT_THAT(text, HasSubstr("eroica_stage_held_records{stage=\"diagnose\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("eroica_stage_held_seconds{stage=\"diagnose\"} 31\n"));
  EXPECT_THAT(text, HasSubstr("eroica_stage_records_unreadable_total{stage=\"diagnose\"} 40\n"));
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
  ExpectDeclaredMetrics(MetricProgram::kNode, Metrics());
}

}  // namespace
}  // namespace eroica
