// `eroica alert` from outside: real receivers, kills, a real Alertmanager.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ops/alerts/testing/receiver.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/program_rest.h"
#include "ops/cli/program_run.h"
#include "ops/cli/time_text.h"
#include "ops/findings/audit_entry.h"
#include "ops/findings/testing/findings_topic.h"
#include "ops/rest/testing/raw_client.h"
#include "stream_ops/recording/recording_log.h"

namespace eroica {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class AlertProgramTest : public ::testing::Test {
 protected:
  AlertProgramTest() : log_(*RecordingLog::Open({.directory = Recording()})), topic_(*log_) {}

  std::string Recording() const { return folder_.path() + "/recording"; }
  void Start(std::vector<std::string> settings) {
    std::vector<std::string> arguments = {"alert", "--recording", Recording()};
    for (const std::string& setting : settings) {
      arguments.emplace_back("--set");
      arguments.push_back("alerts." + setting);
    }
    program_ = std::make_unique<Program>(arguments);
  }
  // Mutes of that finding, each an hour from now.
  void AddAuditEntries(int count, const std::string& target) {
    const std::string topic = AuditTopicName("eroica");
    const absl::Status made = log_->admin().CreateTopic(
        {.name = topic, .partitions = 1, .config = {}, .replication_factor = 1});
    ASSERT_TRUE(made.ok() || absl::IsAlreadyExists(made)) << made;
    const auto producer = *log_->NewProducer();
    const int64_t now_ms = NowMs();
    for (int i = 0; i < count; ++i) {
      const AuditEntry entry{.id = target + std::to_string(i),
                             .at_ms = now_ms,
                             .by = "a person",
                             .action = AuditAction::kMute,
                             .target = target,
                             .detail = "",
                             .until_ms = now_ms + 3'600'000};
      ASSERT_TRUE(producer
                      ->Append({.topic = topic,
                                .key = target,
                                .value = EncodeAuditEntry(entry),
                                .headers = {},
                                .partition = std::nullopt})
                      .ok());
    }
    ASSERT_TRUE(producer->Flush(std::chrono::seconds(30)).ok());
  }
  // What the program answers; empty before it listens.
  std::string Shown(const std::string& target) const {
    return AskProgram(program_->ErrSoFar(), target);
  }
  ProgramRun Stop() {
    program_->Signal(SIGTERM);
    return program_->Wait();
  }

  const ScratchDirectory folder_;
  std::unique_ptr<RecordingLog> log_;
  FindingsTopic topic_;
  Receiver receiver_;
  std::unique_ptr<Program> program_;
};

TEST_F(AlertProgramTest, TellsAWebhookAndAfterAKillGoesOn) {
  WriteBytes(folder_.path() + "/secret", "a secret of this test\n");
  const std::vector<std::string> settings = {"webhook_url=" + receiver_.url("/hook/token"),
                                             "webhook_secret_file=" + folder_.path() + "/secret"};
  topic_.Publish(FindingOf("a", FindingState::kOpened));
  Start(settings);
  ASSERT_TRUE(Await([&] { return receiver_.posts().size() == 1; }));
  topic_.Publish(FindingOf("b", FindingState::kOpened));
  ASSERT_TRUE(Await([&] { return receiver_.posts().size() == 2; }));
  // Only when a third one comes is it known that the second one is committed.
  topic_.Publish(FindingOf("c", FindingState::kOpened));
  ASSERT_TRUE(Await([&] { return receiver_.posts().size() == 3; }));
  program_ = nullptr;  // kill -9
  topic_.Publish(FindingOf("d", FindingState::kOpened));
  Start(settings);
  const auto last_is_d = [&] {
    return receiver_.posts().back().Header("ce-subject").ends_with("/d");
  };
  ASSERT_TRUE(Await(last_is_d));
  const ProgramRun run = Stop();
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.err, HasSubstr("webhook: delivered="));
  EXPECT_THAT(run.err, Not(HasSubstr("a secret")));
  EXPECT_THAT(run.err, Not(HasSubstr("/hook")));
  // c may have come a second time, under its own id; a and b may not.
  EXPECT_LE(receiver_.posts().size(), 5U);
  EXPECT_FALSE(receiver_.posts()[0].Header("webhook-signature").empty());
}

// The audit topic is longer than the findings: who begins with the findings sends what is muted.
TEST_F(AlertProgramTest, WhatWasMutedBeforeItsStartIsNotSent) {
  AddAuditEntries(20'000, "another finding");
  AddAuditEntries(1, "muted");
  topic_.Publish(FindingOf("muted", FindingState::kOpened, Severity::kCritical));
  topic_.Publish(FindingOf("open", FindingState::kOpened));
  Receiver alertmanager;
  Start({"webhook_url=" + receiver_.url("/"), "alertmanager_urls=" + alertmanager.url("/")});
  ASSERT_TRUE(Await([&] { return receiver_.posts().size() == 1; })) << program_->ErrSoFar();
  ASSERT_TRUE(Await([&] { return alertmanager.posts().size() == 1; })) << program_->ErrSoFar();
  const ProgramRun run = Stop();
  EXPECT_EQ(run.exit_code, kExitNothingFound) << run.err;
  EXPECT_THAT(run.err, HasSubstr("muted=1"));
  EXPECT_THAT(receiver_.posts()[0].Header("ce-subject"), EndsWith("/open"));
  EXPECT_EQ(receiver_.posts().size(), 1U);
  EXPECT_THAT(alertmanager.posts()[0].body, Not(HasSubstr("critical")));
}

TEST_F(AlertProgramTest, ItsMetricsSayWhatBecameOfTheMessages) {
  topic_.Publish(FindingOf("a", FindingState::kOpened));
  Receiver away;
  away.Behave(Receiver::Manner::kFails);
  Start({"webhook_url=" + receiver_.url("/token"), "alertmanager_urls=" + away.url("/am"),
         "listen=127.0.0.1:0"});
  const std::string delivered = "eroica_alert_deliveries_total{sink=\"webhook\",server=\"" +
                                receiver_.url("") + "\",outcome=\"delivered\"} 1\n";
  ASSERT_TRUE(Await([&] { return Shown("/metrics").find(delivered) != std::string::npos; }))
      << Shown("/metrics") << program_->ErrSoFar();
  const std::string silent =
      "eroica_alert_receiver_answers{sink=\"alertmanager\",server=\"" + away.url("") + "\"} 0\n";
  ASSERT_TRUE(Await([&] { return Shown("/metrics").find(silent) != std::string::npos; }));
  EXPECT_THAT(Shown("/healthz"), HasSubstr(away.url("") + " does not take what is sent"));
  EXPECT_THAT(Shown("/metrics"), Not(HasSubstr("/token"))) << "a URL may be a secret";
  EXPECT_EQ(Stop().exit_code, kExitNothingFound);
}

TEST_F(AlertProgramTest, SaysWhatIsWrongWithItsOptions) {
  const auto error_of = [this](std::vector<std::string> settings) {
    Start(std::move(settings));
    const ProgramRun run = program_->Wait();
    EXPECT_EQ(run.exit_code, kExitError);
    return run.err;
  };
  EXPECT_THAT(error_of({}), HasSubstr("set alerts.webhook_url or alerts.alertmanager_urls"));
  const std::string wrong = error_of({"webhook_url=hooks.example/secret-path"});
  EXPECT_THAT(wrong, HasSubstr("alerts.webhook_url: it is no http://HOST"));
  EXPECT_THAT(wrong, Not(HasSubstr("secret-path")));
  for (const auto& [url, why] : {std::pair("https://hooks.example:99999/secret-path", "port"),
                                 {"https://hooks..example/secret-path", "host"},
                                 {"https://me:secret-path@hooks.example/", "names a user"},
                                 {"https://hooks.example/secret-path with space", "%XX"}}) {
    for (const char* option : {"webhook_url", "alertmanager_urls"}) {
      const std::string refused = error_of({std::string(option) + "=" + url});
      EXPECT_THAT(refused, AllOf(HasSubstr(option), HasSubstr(why), Not(HasSubstr("secret-path"))));
    }
  }
  EXPECT_THAT(error_of({"webhook_url=https://h/", "ca_certificate=/dev/null"}),
              HasSubstr("alerts.ca_certificate"));
  EXPECT_THAT(error_of({"webhook_url=https://h/", "webhook_secret_env=hunter2"}),
              AllOf(HasSubstr("alerts.webhook_secret_env"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(error_of({"webhook_url=http://h/", "webhook_secret_file=/no/such/file"}),
              HasSubstr("alerts.webhook_secret_file: cannot read /no/such/file"));
  EXPECT_THAT(error_of({"webhook_url=http://h/", "webhook_secret_env=EROICA_TEST_NOT_SET"}),
              HasSubstr("EROICA_TEST_NOT_SET is not set"));
  EXPECT_THAT(error_of({"webhook_url=http://h/", "listen=0.0.0.0:0"}),
              HasSubstr("rest.token_file"));
  EXPECT_THAT(error_of({"severity=grave"}), HasSubstr("must be one of info, minor, major"));
}

// That of Debian's package, on a port of its own.
class AlertmanagerProcess {
 public:
  static constexpr const char* kProgram = "/usr/bin/prometheus-alertmanager";

  AlertmanagerProcess() : port_(FreePort()) {
    WriteBytes(folder_.path() + "/am.yml", "route: {receiver: none}\nreceivers: [{name: none}]\n");
    program_ = std::make_unique<Program>(
        kProgram, std::vector<std::string>{
                      "--config.file=" + folder_.path() + "/am.yml",
                      "--storage.path=" + folder_.path() + "/data", "--cluster.listen-address=",
                      "--web.listen-address=127.0.0.1:" + std::to_string(port_)});
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::string err() const { return program_->ErrSoFar(); }
  bool IsReady() const { return Get("/-/ready").status == 200; }
  // Those that fire.
  nlohmann::json Alerts() const {
    return nlohmann::json::parse(Get("/api/v2/alerts?active=true").body, nullptr, false);
  }

 private:
  static uint16_t FreePort() {
    const Receiver taken;  // and let go of
    return static_cast<uint16_t>(std::atoi(taken.url().substr(taken.url().rfind(':') + 1).c_str()));
  }
  RawClient::Response Get(const std::string& target) const {
    RawClient client(port_);
    if (!client.connected() || !client.Get(target)) return {};
    return client.Read();
  }

  const ScratchDirectory folder_;
  const uint16_t port_;
  std::unique_ptr<Program> program_;
};

TEST_F(AlertProgramTest, ARealAlertmanagerHasTheAlertAndItsEnd) {
  if (::access(AlertmanagerProcess::kProgram, X_OK) != 0)
    GTEST_SKIP() << "there is no " << AlertmanagerProcess::kProgram
                 << ": install Debian's package prometheus-alertmanager";
  const AlertmanagerProcess alertmanager;
  ASSERT_TRUE(Await([&] { return alertmanager.IsReady(); })) << alertmanager.err();
  Finding finding = FindingOf("a", FindingState::kOpened, Severity::kCritical);
  finding.job = JobId{"night/7"};
  topic_.Publish(finding);
  Start({"alertmanager_urls=" + alertmanager.url()});
  ASSERT_TRUE(Await([&] { return alertmanager.Alerts().size() == 1; })) << program_->ErrSoFar();
  const nlohmann::json alert = alertmanager.Alerts()[0];
  EXPECT_EQ(alert["labels"], nlohmann::json({{"alertname", "EroicaFinding"},
                                             {"job", "night/7"},
                                             {"kind", ToString(finding.kind)},
                                             {"severity", "critical"}}));
  EXPECT_EQ(alert["annotations"]["findings"], "a");
  finding.state = FindingState::kResolved;
  topic_.Publish(finding);
  EXPECT_TRUE(Await([&] {
    const nlohmann::json alerts = alertmanager.Alerts();
    return alerts.is_array() && alerts.empty();
  })) << program_->ErrSoFar();
  EXPECT_EQ(Stop().exit_code, kExitNothingFound);
}

}  // namespace
}  // namespace eroica
