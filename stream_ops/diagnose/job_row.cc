#include "stream_ops/diagnose/job_row.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

// Takes the field where it is there and a number.
template <typename T>
void Take(const Json& json, const char* name, T* out) {
  const auto field = json.find(name);
  if (field != json.end() && field->is_number()) *out = field->template get<T>();
}

constexpr size_t kMostContested = 64;  // ranks and hosts

Json ContestedAsJson(const std::vector<ContestedRank>& ranks) {
  Json rows = Json::array();
  for (const ContestedRank& rank : ranks) {
    if (rows.size() == kMostContested) break;
    Json hosts = Json::array();
    for (const std::string& host : rank.hosts) {
      if (hosts.size() < kMostContested) hosts.push_back(host);
    }
    rows.push_back({{"rank", rank.rank}, {"processes", rank.processes}, {"hosts", hosts}});
  }
  return rows;
}

std::vector<ContestedRank> ContestedOf(const Json& json) {
  std::vector<ContestedRank> ranks;
  const auto rows = json.find("contested");
  if (rows == json.end() || !rows->is_array()) return ranks;
  for (const Json& row : *rows) {
    if (!row.is_object() || ranks.size() == kMostContested) continue;
    ContestedRank& rank = ranks.emplace_back();
    Take(row, "rank", &rank.rank);
    Take(row, "processes", &rank.processes);
    const auto hosts = row.find("hosts");
    if (hosts == row.end() || !hosts->is_array()) continue;
    for (const Json& host : *hosts) {
      if (host.is_string()) rank.hosts.push_back(host.get<std::string>());
    }
  }
  return ranks;
}

}  // namespace

std::string EncodeJobRow(const WindowSummary& newest) {
  const Completeness& completeness = newest.completeness;
  Json row{{"world_size", newest.world_size},
           {"ranks_seen", newest.ranks_seen},
           {"ranks_silent", newest.ranks_silent},
           {"roles", newest.roles},
           {"window_kind", newest.kind == WindowKind::kSteps ? "steps" : "time"},
           {"last_window", newest.index},
           {"first_step", newest.first_step},
           {"last_step", newest.last_step},
           {"start_ns", newest.start_ns},
           {"end_ns", newest.end_ns},
           {"timestamp_ms", newest.timestamp_ms},
           {"median_step_ns", newest.median_step_ns},
           {"events", completeness.events},
           {"late", completeness.late},
           {"lost", completeness.lost},
           {"sampled", completeness.sampled},
           {"outside", completeness.outside},
           {"suppressed_steps", newest.suppressed.all()},
           {"last_of_job", newest.last_of_job}};
  if (!newest.contested.empty()) row["contested"] = ContestedAsJson(newest.contested);
  return row.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<WindowSummary> DecodeJobRow(std::string_view row) {
  const Json json = Json::parse(row, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  WindowSummary newest;
  const auto kind = json.find("window_kind");
  if (kind != json.end() && *kind == "steps") newest.kind = WindowKind::kSteps;
  const auto last = json.find("last_of_job");
  newest.last_of_job = last != json.end() && *last == true;
  newest.contested = ContestedOf(json);
  Take(json, "world_size", &newest.world_size);
  Take(json, "ranks_seen", &newest.ranks_seen);
  Take(json, "ranks_silent", &newest.ranks_silent);
  Take(json, "roles", &newest.roles);
  Take(json, "last_window", &newest.index);
  Take(json, "first_step", &newest.first_step);
  Take(json, "last_step", &newest.last_step);
  Take(json, "start_ns", &newest.start_ns);
  Take(json, "end_ns", &newest.end_ns);
  Take(json, "timestamp_ms", &newest.timestamp_ms);
  Take(json, "median_step_ns", &newest.median_step_ns);
  Take(json, "events", &newest.completeness.events);
  Take(json, "late", &newest.completeness.late);
  Take(json, "lost", &newest.completeness.lost);
  Take(json, "sampled", &newest.completeness.sampled);
  Take(json, "outside", &newest.completeness.outside);
  Take(json, "suppressed_steps", &newest.suppressed.warm_up);
  return newest;
}

}  // namespace eroica
