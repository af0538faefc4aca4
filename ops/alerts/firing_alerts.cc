#include "ops/alerts/firing_alerts.h"

#include <absl/time/time.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "schemas/printable_text.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTitlesMax = 5;

std::string TimeOf(int64_t ms) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMillis(ms), absl::UTCTimeZone());
}

std::string SuggestedActionOf(const FindingEntry& entry) {
  const nlohmann::json finding = nlohmann::json::parse(entry.json, nullptr, false);
  return finding.is_object() ? Printable(finding.value("suggested_action", "")) : "";
}

std::string Joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

// Alertmanager takes no alert that begins after its end: the clocks of ranks may be ahead of ours.
Json AlertJson(const AlertKey& key, const FiringAlert& alert, int64_t starts_at_ms,
               int64_t ends_at_ms) {
  const std::string more =
      alert.findings > alert.titles.size()
          ? " And " + std::to_string(alert.findings - alert.titles.size()) + " more."
          : "";
  return Json{{"labels", Json{{"alertname", "EroicaFinding"},
                              {"job", Printable(key.job)},
                              {"kind", ToString(key.kind)},
                              {"severity", ToString(key.severity)}}},
              {"annotations", Json{{"summary", alert.titles.front()},
                                   {"description", Joined(alert.titles, " ") + more},
                                   {"action", alert.suggested_action},
                                   {"findings", Joined(alert.finding_ids, " ")}}},
              {"startsAt", TimeOf(starts_at_ms)},
              {"endsAt", TimeOf(ends_at_ms)}};
}

}  // namespace

FiringAlerts AlertsOf(const std::vector<FindingPtr>& findings) {
  FiringAlerts alerts;
  for (const FindingPtr& finding : findings) {
    FiringAlert& alert =
        alerts[{.job = finding->job, .kind = finding->kind, .severity = finding->severity}];
    if (++alert.findings == 1) {
      alert.starts_at_ms = finding->first_seen_ms;
      alert.suggested_action = SuggestedActionOf(*finding);
    }
    alert.starts_at_ms = std::min(alert.starts_at_ms, finding->first_seen_ms);
    if (alert.titles.size() == kTitlesMax) continue;
    alert.titles.push_back(Printable(finding->title));
    alert.finding_ids.push_back(finding->id);
  }
  return alerts;
}

std::string AlertsJson(const FiringAlerts& firing, const FiringAlerts& ended, int64_t now_ms,
                       int64_t expires_ms) {
  Json alerts = Json::array();
  for (const auto& [key, alert] : firing)
    alerts.push_back(AlertJson(key, alert, std::min(alert.starts_at_ms, now_ms), expires_ms));
  for (const auto& [key, alert] : ended)
    alerts.push_back(AlertJson(key, alert, std::min(alert.starts_at_ms, now_ms - 1), now_ms));
  return alerts.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace eroica
