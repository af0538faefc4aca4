// What the node says of itself: /healthz, /metrics, /readyz, /v1/status, and the document of the
// API.
#include "ops/rest/openapi.h"
#include "ops/rest/problem.h"
#include "ops/rest/resources/answer.h"
#include "ops/rest/resources/resource.h"
#include "ops/rest/resources/routes.h"

namespace eroica {
namespace {

constexpr int kUnavailable = 503;

// Liveness: that the node answers at all. One that cannot use what it receives is not helped by
// being started anew, and says so in the answer.
HttpResponse ShowHealth(const RestSources& sources) {
  const NodeState node = sources.node();
  return Answer({{"healthy", node.healthy}, {"reasons", node.reasons}});
}

HttpResponse ShowReadiness(const RestSources& sources) {
  const NodeState node = sources.node();
  const bool ready = node.ready();
  HttpResponse response = Answer({{"ready", ready}, {"tasks_restoring", node.tasks_restoring()}},
                                 ready ? 200 : kUnavailable);
  if (!ready) response.Add("Retry-After", "2");
  return response;
}

Json StagesJson(const NodeState& node) {
  Json stages = Json::array();
  for (const auto& [name, probe] : node.stages) {
    uint64_t dead_letters = 0;
    for (const auto& [reason, count] : probe.dead_letters) dead_letters += count;
    uint64_t outputs_dropped = 0;
    for (const auto& [reason, count] : probe.outputs_dropped) outputs_dropped += count;
    stages.push_back(
        {{"stage", name},
         {"tasks", probe.tasks},
         {"tasks_restoring", probe.tasks_restoring},
         {"records_received", probe.records_received},
         {"records_processed", probe.records_processed},
         {"records_emitted", probe.records_emitted},
         {"records_unreadable", probe.records_unreadable},
         {"lag_records", probe.consumer.lag_records ? Json(*probe.consumer.lag_records) : Json()},
         {"held_records", probe.consumer.held_records},
         {"held_seconds", probe.consumer.held_seconds},
         {"dead_letters", dead_letters},
         {"outputs_dropped", outputs_dropped},
         {"retries", probe.retries}});
  }
  return stages;
}

Json NodesJson(const RestSources& sources) {
  Json nodes = Json::array();
  if (!sources.others) return nodes;
  for (const KnownNode& node : sources.others())
    nodes.push_back(
        {{"node", node.name}, {"url", node.url}, {"announced", TimeOfMs(node.announced_ms)}});
  return nodes;
}

HttpResponse ShowStatus(const RestSources& sources, const HttpRequest&, Parameters& parameters) {
  if (auto refused = parameters.Refuse()) return *refused;
  const NodeState node = sources.node();
  return Answer({{"node", node.name},
                 {"version", node.version},
                 {"started", TimeOfMs(node.started_ms)},
                 {"ready", node.ready()},
                 {"healthy", node.healthy},
                 {"reasons", node.reasons},
                 {"roles", node.roles},
                 {"stages", StagesJson(node)},
                 {"jobs", sources.board->Jobs().size()},
                 {"findings_held", sources.findings->size()},
                 {"findings_evicted", sources.findings->evicted()},
                 {"nodes", NodesJson(sources)}});
}

}  // namespace

void AddProcessRoutes(Router& router, const RestSources& sources) {
  router.Get(
      "/healthz", Access::kAnybody,
      [&sources](const HttpRequest&, const PathArguments&) { return ShowHealth(sources); }, false);
  router.Get(
      "/metrics", Access::kRead,
      [&sources](const HttpRequest&, const PathArguments&) {
        HttpResponse response = JsonResponse(sources.metrics());
        response.content_type = "text/plain; version=0.0.4; charset=utf-8";
        return response;
      },
      false);
}

void AddStatusRoutes(Router& router, const RestSources& sources) {
  router.Get(
      "/readyz", Access::kAnybody,
      [&sources](const HttpRequest&, const PathArguments&) { return ShowReadiness(sources); },
      false);
  router.Get("/openapi.json", Access::kAnybody, [](const HttpRequest&, const PathArguments&) {
    return JsonResponse(std::string(kOpenApiDocument));
  });
  AddResource(router, sources, "/v1/status", ShowStatus, false);
}

}  // namespace eroica
