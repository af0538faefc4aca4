#include "ops/cli/alert_sinks.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <utility>

#include "ops/cli/time_text.h"
#include "ops/config/secret.h"
#include "ops/config/text_file.h"

namespace eroica {
namespace {

constexpr uint64_t kIndexBytes = uint64_t{64} << 20;
constexpr std::chrono::seconds kMutesLongest{30};

Severity SeverityOf(const std::string& name) {
  for (int i = 0; i < kSeverityCount; ++i) {
    if (ToString(static_cast<Severity>(i)) == name) return static_cast<Severity>(i);
  }
  return Severity::kInfo;  // the configuration has been checked
}

PeerOptions ConnectionOf(const NodeConfig& config) {
  return {.token = {},
          .ca_certificate = config.alerts.ca_certificate,
          .time = std::chrono::milliseconds(config.alerts.timeout_ms)};
}

absl::StatusOr<std::string> ReadLine(const std::string& option, const std::string& path) {
  absl::StatusOr<std::string> text = ReadSecretFile(option, path);
  if (!text.ok()) return text.status();
  return std::string(absl::StripAsciiWhitespace(*text));
}

absl::StatusOr<std::optional<WebhookKey>> KeyOf(const NodeConfig::Alerts& alerts) {
  if (!alerts.webhook_secret_file.empty() && !alerts.webhook_secret_env.empty())
    return absl::InvalidArgumentError(
        "both alerts.webhook_secret_file and alerts.webhook_secret_env are given: give one");
  std::string secret;
  if (!alerts.webhook_secret_file.empty()) {
    absl::StatusOr<std::string> read =
        ReadLine("alerts.webhook_secret_file", alerts.webhook_secret_file);
    if (!read.ok()) return read.status();
    secret = *std::move(read);
  } else if (!alerts.webhook_secret_env.empty()) {
    const char* value = std::getenv(alerts.webhook_secret_env.c_str());
    if (value == nullptr)
      return absl::NotFoundError(fmt::format("alerts.webhook_secret_env: {} is not set",
                                             VariableForMessage(alerts.webhook_secret_env)));
    secret = value;
  } else {
    return std::nullopt;
  }
  absl::StatusOr<WebhookKey> key = WebhookKey::FromSecret(secret);
  if (!key.ok()) return key.status();
  return *std::move(key);
}

absl::StatusOr<HttpUrl> UrlOf(const std::string& option, const std::string& text) {
  absl::StatusOr<HttpUrl> url = ParseHttpUrl(text);
  if (url.ok()) return url;
  // It may be a secret: it is not shown.
  return absl::InvalidArgumentError(
      fmt::format("{}: {}", option, std::string(url.status().message())));
}

absl::StatusOr<std::optional<WebhookOptions>> WebhookOf(const NodeConfig& config) {
  const NodeConfig::Alerts& alerts = config.alerts;
  if (!alerts.webhook_url.empty() && !alerts.webhook_url_file.empty())
    return absl::InvalidArgumentError(
        "both alerts.webhook_url and alerts.webhook_url_file are given: give one");
  std::string text = alerts.webhook_url;
  if (!alerts.webhook_url_file.empty()) {
    absl::StatusOr<std::string> read = ReadLine("alerts.webhook_url_file", alerts.webhook_url_file);
    if (!read.ok()) return read.status();
    text = *std::move(read);
  }
  if (text.empty() && !alerts.webhook_url_file.empty())
    return absl::InvalidArgumentError(
        fmt::format("alerts.webhook_url_file: {} is empty: write the "
                    "URL into it",
                    alerts.webhook_url_file));
  if (text.empty()) return std::nullopt;
  absl::StatusOr<HttpUrl> url =
      UrlOf(alerts.webhook_url.empty() ? "alerts.webhook_url_file" : "alerts.webhook_url", text);
  if (!url.ok()) return url.status();
  absl::StatusOr<std::optional<WebhookKey>> key = KeyOf(alerts);
  if (!key.ok()) return key.status();
  return WebhookOptions{.url = *std::move(url),
                        .key = *std::move(key),
                        .connection = ConnectionOf(config),
                        .topic_prefix = config.node.topic_prefix,
                        .group = config.kafka.group_prefix + "-alert-webhook",
                        .least = SeverityOf(alerts.severity),
                        .messages_max = static_cast<size_t>(alerts.webhook_queue_max),
                        .give_up_after = std::chrono::minutes(alerts.webhook_give_up_minutes)};
}

// A file that cannot be used would let every delivery fail.
absl::Status CheckAuthority(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadTextFile(path);
  if (!text.ok())
    return absl::Status(text.status().code(), fmt::format("alerts.ca_certificate: {}",
                                                          std::string(text.status().message())));
  if (text->find("-----BEGIN ") != std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "alerts.ca_certificate: {} holds no certificate in PEM: name the file of the authority",
      path));
}

absl::StatusOr<std::vector<AlertmanagerOptions>> AlertmanagersOf(const NodeConfig& config) {
  std::vector<AlertmanagerOptions> alertmanagers;
  const std::vector<std::string> urls =
      absl::StrSplit(config.alerts.alertmanager_urls, ',', absl::SkipWhitespace());
  for (const std::string& text : urls) {
    absl::StatusOr<HttpUrl> url =
        UrlOf("alerts.alertmanager_urls", std::string(absl::StripAsciiWhitespace(text)));
    if (!url.ok()) return url.status();
    alertmanagers.push_back(
        {.url = *std::move(url),
         .connection = ConnectionOf(config),
         .least = SeverityOf(config.alerts.severity),
         .resend_every = std::chrono::seconds(config.alerts.alertmanager_resend_seconds)});
  }
  return alertmanagers;
}

}  // namespace

absl::Status CheckAlertUrls(const NodeConfig& config) {
  if (!config.alerts.webhook_url.empty()) {
    const absl::Status status = UrlOf("alerts.webhook_url", config.alerts.webhook_url).status();
    if (!status.ok()) return status;
  }
  return AlertmanagersOf(config).status();
}

AlertSinks::AlertSinks(const NodeConfig& config, Log& log)
    : index_(kIndexBytes),
      follower_(log, config.node.topic_prefix, index_),
      audit_(log, config.node.topic_prefix, index_) {}

absl::StatusOr<std::unique_ptr<AlertSinks>> AlertSinks::Open(const NodeConfig& config, Log& log) {
  if (absl::Status status = CheckAuthority(config.alerts.ca_certificate); !status.ok())
    return status;
  absl::StatusOr<std::optional<WebhookOptions>> webhook = WebhookOf(config);
  if (!webhook.ok()) return webhook.status();
  absl::StatusOr<std::vector<AlertmanagerOptions>> alertmanagers = AlertmanagersOf(config);
  if (!alertmanagers.ok()) return alertmanagers.status();
  if (!webhook->has_value() && alertmanagers->empty())
    return absl::InvalidArgumentError(
        "no receiver is configured: set alerts.webhook_url or alerts.alertmanager_urls "
        "(docs/ALERTS.md)");
  std::unique_ptr<AlertSinks> sinks(new AlertSinks(config, log));
  if (webhook->has_value()) {
    (*webhook)->is_muted = [&index = sinks->index_](const std::string& id) {
      const FindingPtr finding = index.Find(id);
      return finding != nullptr && finding->annotation.IsMuted(NowMs());
    };
    (*webhook)->mutes_are_known = [&sinks = *sinks] { return sinks.MutesAreKnown(); };
    sinks->webhook_ = std::make_unique<WebhookSink>(log, **std::move(webhook));
  }
  for (AlertmanagerOptions& options : *alertmanagers) {
    options.mutes_are_known = [&sinks = *sinks] { return sinks.MutesAreKnown(); };
    sinks->alertmanagers_.push_back(
        std::make_unique<AlertmanagerSink>(sinks->index_, std::move(options)));
  }
  return sinks;
}

bool AlertSinks::MutesAreKnown() {
  if (index_.caught_up() && (audit_.caught_up() || audit_.is_missing())) return true;
  if (std::chrono::steady_clock::now() < wait_until_) return false;
  if (!has_given_up_.exchange(true))
    spdlog::warn(
        "alerts: what people have muted could not be read in {} s: findings are sent all the same",
        kMutesLongest.count());
  return true;
}

void AlertSinks::Start() {
  wait_until_ = std::chrono::steady_clock::now() + kMutesLongest;
  follower_.Start();
  audit_.Start();
  if (webhook_ != nullptr) webhook_->Start();
  for (const auto& alertmanager : alertmanagers_) alertmanager->Start();
}

AlertMeasures AlertSinks::Measure() const {
  AlertMeasures measures;
  if (webhook_ != nullptr)
    measures.webhook =
        AlertMeasures::Webhook{.server = webhook_->server(), .probe = webhook_->probe()};
  for (const auto& alertmanager : alertmanagers_)
    measures.alertmanagers.push_back(
        {.server = alertmanager->server(), .probe = alertmanager->probe()});
  measures.findings_malformed = follower_.malformed();
  return measures;
}

}  // namespace eroica
