// The open findings as alerts of Alertmanager: one alert a job, kind and severity, which are its
// labels beside the name, so that the number of alerts is bounded by the jobs, whatever ranks and
// functions are found; what was found stands in the annotations. Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ops/findings/finding_index.h"

namespace eroica {

// What makes an alert the same.
struct AlertKey {
  std::string job;
  FindingKind kind = FindingKind::kSlowRank;
  Severity severity = Severity::kInfo;
  friend auto operator<=>(const AlertKey&, const AlertKey&) = default;
};

struct FiringAlert {
  int64_t starts_at_ms = 0;  // the first of its findings, event time
  // By cost, the first few.
  std::vector<std::string> titles;
  std::vector<std::string> finding_ids;
  std::string suggested_action;  // of the first
  size_t findings = 0;
  friend bool operator==(const FiringAlert&, const FiringAlert&) = default;
};

using FiringAlerts = std::map<AlertKey, FiringAlert>;

// findings: open ones, most costly first, as FindingIndex::Select answers.
FiringAlerts AlertsOf(const std::vector<FindingPtr>& findings);

// The body of POST /api/v2/alerts. Those that fire are said to end at expires_ms unless they are
// said again; those that have ended, with what they said last, to have ended at now_ms.
std::string AlertsJson(const FiringAlerts& firing, const FiringAlerts& ended, int64_t now_ms,
                       int64_t expires_ms);

}  // namespace eroica
