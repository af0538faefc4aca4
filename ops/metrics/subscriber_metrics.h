// What /metrics of the programs that follow the findings answers (`eroica alert`, `eroica act`), as
// of now, in Prometheus' text format. Pure functions of what they are given, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/act/actor.h"
#include "ops/alerts/alertmanager_sink.h"
#include "ops/alerts/webhook_sink.h"
#include "ops/rest/server.h"

namespace eroica {

struct SubscriberProgram {
  std::string version;
  int64_t started_ms = 0;  // wall clock
  ServerProbe http;
};

// The receivers, each by its server ("https://hooks.example:443"): the rest of a URL may be a
// secret.
struct AlertMeasures {
  struct Webhook {
    std::string server;
    WebhookProbe probe;
  };
  struct Alertmanager {
    std::string server;
    AlertmanagerProbe probe;
  };
  std::optional<Webhook> webhook;
  std::vector<Alertmanager> alertmanagers;
  uint64_t findings_malformed = 0;
};

std::string AlertMetrics(const AlertMeasures& alerts, const SubscriberProgram& program);
std::string ActMetrics(const ActorProbe& actor, const SubscriberProgram& program);

}  // namespace eroica
