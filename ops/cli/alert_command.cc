// eroica alert: pushes findings to a webhook and to Alertmanager.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ops/cli/alert_sinks.h"
#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/logging.h"
#include "ops/cli/open_log.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/subscriber_rest.h"

namespace eroica {
namespace {

using std::chrono::steady_clock;

// A line for each receiver: what became of what was sent.
std::vector<std::string> ProgressOf(const AlertMeasures& alerts) {
  std::vector<std::string> lines;
  if (alerts.webhook) lines.push_back("webhook: " + ProbeText(alerts.webhook->probe));
  for (const auto& alertmanager : alerts.alertmanagers)
    lines.push_back("alertmanager: " + ProbeText(alertmanager.probe));
  return lines;
}

std::vector<std::string> SilentReceivers(const AlertMeasures& alerts) {
  std::vector<std::string> reasons;
  const auto look = [&reasons](const auto& receiver) {
    if (!receiver.probe.answers)
      reasons.push_back(fmt::format("{} does not take what is sent", receiver.server));
  };
  if (alerts.webhook) look(*alerts.webhook);
  for (const auto& alertmanager : alerts.alertmanagers) look(alertmanager);
  return reasons;
}

// Until somebody says stop. How the sinks get on is logged once a minute, if anything has changed.
void Watch(const AlertSinks& sinks) {
  constexpr std::chrono::milliseconds kLook{50};
  constexpr std::chrono::seconds kSayEvery{60};
  std::vector<std::string> said;
  auto due = steady_clock::now() + kSayEvery;
  while (!StopRequested()) {
    std::this_thread::sleep_for(kLook);
    if (steady_clock::now() < due) continue;
    due += kSayEvery;
    std::vector<std::string> lines = ProgressOf(sinks.Measure());
    if (lines == said) continue;
    for (const std::string& line : lines) spdlog::info("alerts: {}", line);
    said = std::move(lines);
  }
}

absl::Status Alert(const ConfigFlags& flags) {
  const absl::StatusOr<NodeConfig> config = flags.Load();
  if (!config.ok()) return config.status();
  SetLogLevel(config->node.log_level);
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(*config, LogAccess::kRead);
  if (!log.ok()) return log.status();
  const absl::StatusOr<std::unique_ptr<AlertSinks>> sinks = AlertSinks::Open(*config, **log);
  if (!sinks.ok()) return sinks.status();
  const absl::StatusOr<std::unique_ptr<SubscriberRest>> rest = SubscriberRest::Start(
      *config, {.option = "alerts.listen",
                .listen = config->alerts.listen,
                .reasons = [&sinks = **sinks] { return SilentReceivers(sinks.Measure()); },
                .metrics =
                    [&sinks = **sinks](const SubscriberProgram& program) {
                      return AlertMetrics(sinks.Measure(), program);
                    }});
  if (!rest.ok()) return rest.status();
  CatchStopSignals();
  (*sinks)->Start();
  spdlog::info("alerts: running log={}",
               config->node.recording.empty() ? config->kafka.bootstrap : config->node.recording);
  Watch(**sinks);
  for (const std::string& line : ProgressOf((*sinks)->Measure())) std::cerr << line << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddAlertCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<ConfigFlags>();
  CLI::App* command =
      app.add_subcommand("alert", "Tell people of findings: a webhook, Alertmanager");
  flags->AddTo(*command);
  command->footer(
      "Examples:\n"
      "  eroica alert --config /etc/eroica/node.toml            as its section [alerts] says\n"
      "  eroica alert --bootstrap localhost:9092 --set alerts.alertmanager_urls=http://am:9093\n"
      "  eroica alert --recording recording/ --set alerts.webhook_url=https://hooks.example/eroica "
      "\\\n"
      "      --set alerts.webhook_secret_file=secret\n"
      "  eroica alert --config node.toml --set alerts.listen=127.0.0.1:8471    with /metrics\n\n"
      "Stops on Ctrl-C or SIGTERM. A receiver that is away is tried again, and holds up no other. "
      "docs/ALERTS.md says what is sent and how to verify it. Exit codes: 0 stopped, 2 error.");
  command->callback([flags, exit_code] {
    const absl::Status status = Alert(*flags);
    *exit_code = status.ok() ? kExitNothingFound : ExitWithError(status);
  });
}

}  // namespace eroica
