#include "ops/metrics/subscriber_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/metrics/testing/declared_metrics.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SubscriberProgram Program() {
  SubscriberProgram program{.version = "1", .started_ms = 2'000, .http = {}};
  program.http.responses = {{200, 3}};
  return program;
}

AlertMeasures TwoReceivers() {
  return {
      .webhook =
          AlertMeasures::Webhook{
              .server = "hooks:443",
              .probe = {.delivered = 5, .failed = 4, .too_old = 2, .waiting = 3, .answers = false}},
      .alertmanagers = {{.server = "am:9093", .probe = {.pushes = 7, .firing = 6}}},
      .findings_malformed = 1};
}

TEST(AlertMetricsTest, SaysWhatBecameOfTheMessagesToEachReceiver) {
  const std::string text = AlertMetrics(TwoReceivers(), Program());
  for (
      const char* line : {
          R"(eroica_alert_deliveries_total{sink="webhook",server="hooks:443",outcome="delivered"} 5)",
          R"(eroica_alert_deliveries_total{sink="webhook",server="hooks:443",outcome="too_old"} 2)",
          R"(eroica_alert_deliveries_total{sink="webhook",server="hooks:443",outcome="no_room"} 0)",
          R"(eroica_alert_deliveries_total{sink="alertmanager",server="am:9093",outcome="delivered"} 7)",
          R"(eroica_alert_receiver_answers{sink="webhook",server="hooks:443"} 0)",
          R"(eroica_alert_receiver_answers{sink="alertmanager",server="am:9093"} 1)",
          R"(eroica_alert_messages_waiting{server="hooks:443"} 3)",
          R"(eroica_alerts_firing{server="am:9093"} 6)",
          "eroica_findings_malformed_total 1",
          "process_start_time_seconds 2",
          R"(eroica_http_responses_total{code="200"} 3)",
      })
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  ExpectDeclaredMetrics(MetricProgram::kAlert, text);
}

TEST(AlertMetricsTest, AReceiverThatIsNotConfiguredHasNoSeries) {
  AlertMeasures alerts = TwoReceivers();
  alerts.webhook = std::nullopt;
  EXPECT_THAT(AlertMetrics(alerts, Program()), Not(HasSubstr("webhook\"")));
}

TEST(ActMetricsTest, SaysWhatThePolicyCameTo) {
  const std::string text =
      ActMetrics({.versions = 9, .refused = 4, .dry_run = 0, .done = 3, .failed = 2}, Program());
  for (const char* line :
       {"eroica_act_versions_total 9", R"(eroica_act_decisions_total{outcome="refused"} 4)",
        R"(eroica_act_decisions_total{outcome="dry_run"} 0)",
        R"(eroica_act_decisions_total{outcome="done"} 3)",
        R"(eroica_act_decisions_total{outcome="failed"} 2)"})
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  ExpectDeclaredMetrics(MetricProgram::kAct, text);
}

}  // namespace
}  // namespace eroica
