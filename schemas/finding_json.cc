#include "schemas/finding_json.h"

#include <absl/time/time.h>

#include <nlohmann/json.hpp>

#include "schemas/printable_text.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

Json CulpritsJson(const std::vector<Culprit>& culprits) {
  Json array = Json::array();
  for (const Culprit& c : culprits) {
    Json object;
    if (c.rank >= 0) object["rank"] = c.rank;
    if (!c.host.empty()) object["host"] = c.host;
    if (c.device >= 0) object["device"] = c.device;
    if (c.peer >= 0) object["peer"] = c.peer;
    array.push_back(std::move(object));
  }
  return array;
}

Json EvidenceJson(const std::vector<Measure>& evidence) {
  Json array = Json::array();
  for (const Measure& m : evidence) {
    array.push_back({{"name", m.name},
                     {"unit", m.unit},
                     {"culprit", m.culprit},
                     {"peers", m.peers},
                     {"threshold", m.threshold},
                     {"samples", m.samples}});
  }
  return array;
}

// RFC 3339, to the millisecond.
std::string TimeJson(int64_t ns) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", absl::FromUnixNanos(ns), absl::UTCTimeZone());
}

}  // namespace

std::string ToJson(const Finding& f, JsonTimes times) {
  Json victims = Json::array();
  for (const Victim& v : f.victims) {
    victims.push_back(
        {{"rank", v.rank.value}, {"lost_ns", v.lost_ns}, {"lost_ns_per_step", v.lost_ns_per_step}});
  }
  Json chain = Json::array();
  for (const Effect& e : f.chain) {
    chain.push_back({{"rank", e.rank}, {"description", e.description}, {"lost_ns", e.lost_ns}});
  }
  Json json{{"id", f.id},
            {"job", f.job.value},
            {"kind", ToString(f.kind)},
            {"subkind", f.subkind},
            {"severity", ToString(f.severity)},
            {"state", ToString(f.state)},
            {"confidence", f.confidence},
            {"title", f.title},
            {"explanation", f.explanation},
            {"suggested_action", f.suggested_action},
            {"culprits", CulpritsJson(f.culprits)},
            {"function", f.function},
            {"stack", f.stack},
            {"function_class", ToString(f.function_class)},
            {"victims", std::move(victims)},
            {"evidence", EvidenceJson(f.evidence)},
            {"chain", std::move(chain)},
            {"lost_gpu_seconds_per_hour", f.lost_gpu_seconds_per_hour},
            {"lost_ns_per_step", f.lost_ns_per_step},
            {"windows", {{"first", f.first_window}, {"last", f.last_window}}},
            {"steps", {{"first", f.first_step}, {"last", f.last_step}}},
            {"caveats", f.caveats},
            {"data_quality",
             {{"events", f.events},
              {"events_lost", f.events_lost},
              {"ranks_seen", f.ranks_seen},
              {"world_size", f.world_size}}},
            {"operator", {{"name", f.operator_name}, {"version", f.operator_version}}},
            {"replay_id", f.replay_id}};
  if (IsTimeOfDay(f.first_seen_ns)) json["first_seen"] = TimeJson(f.first_seen_ns);
  if (IsTimeOfDay(f.last_seen_ns)) json["last_seen"] = TimeJson(f.last_seen_ns);
  if (times == JsonTimes::kInclude) {
    if (IsTimeOfDay(f.emitted_at_ns)) json["emitted_at"] = TimeJson(f.emitted_at_ns);
    json["emitted_at_ns"] = f.emitted_at_ns;
  }
  return PrintableJson(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace eroica
