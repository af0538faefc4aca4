#include "ops/metrics/subscriber_metrics.h"

#include <utility>

#include "ops/metrics/exposition.h"

namespace eroica {
namespace {

Exposition::Labels LabelsOf(const char* sink, const std::string& server) {
  return {{"sink", sink}, {"server", server}};
}

void AddProgram(const SubscriberProgram& program, Exposition& out) {
  out.AddProgram(program.version);
  out.AddServer(program.http);
  out.AddProcess(program.started_ms);
}

// Of one receiver: the outcomes of what was sent to it.
void AddDeliveries(Exposition::Labels labels,
                   const std::vector<std::pair<const char*, uint64_t>>& outcomes, Exposition& out) {
  labels.push_back({"outcome", ""});
  for (const auto& [outcome, count] : outcomes) {
    labels.back().value = outcome;
    out.Add(Metric::kAlertDeliveries, count, labels);
  }
}

void AddSinks(const AlertMeasures& alerts, Exposition& out) {
  if (alerts.webhook) {
    const WebhookProbe& probe = alerts.webhook->probe;
    AddDeliveries(LabelsOf("webhook", alerts.webhook->server),
                  {{"delivered", probe.delivered},
                   {"failed", probe.failed},
                   {"refused", probe.refused},
                   {"too_old", probe.too_old},
                   {"no_room", probe.no_room},
                   {"muted", probe.muted}},
                  out);
  }
  for (const auto& [server, probe] : alerts.alertmanagers)
    AddDeliveries(
        LabelsOf("alertmanager", server),
        {{"delivered", probe.pushes}, {"failed", probe.failed}, {"refused", probe.refused}}, out);
  if (alerts.webhook)
    out.Add(Metric::kAlertReceiverAnswers, alerts.webhook->probe.answers ? 1.0 : 0.0,
            LabelsOf("webhook", alerts.webhook->server));
  for (const auto& [server, probe] : alerts.alertmanagers)
    out.Add(Metric::kAlertReceiverAnswers, probe.answers ? 1.0 : 0.0,
            LabelsOf("alertmanager", server));
  if (alerts.webhook)
    out.Add(Metric::kAlertMessagesWaiting, alerts.webhook->probe.waiting,
            {{"server", alerts.webhook->server}});
  for (const auto& [server, probe] : alerts.alertmanagers)
    out.Add(Metric::kAlertsFiring, probe.firing, {{"server", server}});
}

}  // namespace

std::string AlertMetrics(const AlertMeasures& alerts, const SubscriberProgram& program) {
  Exposition out;
  AddSinks(alerts, out);
  out.Add(Metric::kFindingsMalformed, alerts.findings_malformed);
  AddProgram(program, out);
  return out.Text();
}

std::string ActMetrics(const ActorProbe& actor, const SubscriberProgram& program) {
  Exposition out;
  out.Add(Metric::kActVersions, actor.versions);
  for (const auto& [outcome, count] :
       {std::pair("refused", actor.refused), std::pair("dry_run", actor.dry_run),
        std::pair("done", actor.done), std::pair("failed", actor.failed)})
    out.Add(Metric::kActDecisions, count, {{"outcome", outcome}});
  AddProgram(program, out);
  return out.Text();
}

}  // namespace eroica
