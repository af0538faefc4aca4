#include "schemas/finding.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cinttypes>
#include <cstdio>

namespace eroica {

std::string_view ToString(FindingKind kind) {
  switch (kind) {
    case FindingKind::kSlowRank: return "slow_rank";
    case FindingKind::kImbalance: return "imbalance";
    case FindingKind::kCommunication: return "communication";
    case FindingKind::kHang: return "hang";
    case FindingKind::kStepTime: return "step_time";
    case FindingKind::kRegression: return "regression";
    case FindingKind::kContention: return "contention";
    case FindingKind::kMonitoringGap: return "monitoring_gap";
  }
  return "unknown";
}

std::string_view ToString(FindingState state) {
  switch (state) {
    case FindingState::kOpened: return "opened";
    case FindingState::kUpdated: return "updated";
    case FindingState::kResolved: return "resolved";
  }
  return "unknown";
}

std::string_view ToString(Severity severity) {
  switch (severity) {
    case Severity::kInfo: return "info";
    case Severity::kMinor: return "minor";
    case Severity::kMajor: return "major";
    case Severity::kCritical: return "critical";
  }
  return "unknown";
}

std::string FindingId(const Finding& finding) {
  std::string identity = finding.job.value;
  const auto append = [&identity](std::string_view field) {
    identity.push_back('\0');
    identity.append(field);
  };
  append(ToString(finding.kind));
  append(finding.subkind);
  for (const Culprit& culprit : finding.culprits) {
    append(std::to_string(culprit.rank));
    append(std::to_string(culprit.peer));
    append(culprit.host);
  }
  append(finding.stack);
  append(finding.function);
  const XXH128_hash_t hash = XXH3_128bits(identity.data(), identity.size());
  char hex[33];
  std::snprintf(hex, sizeof hex, "%016" PRIx64 "%016" PRIx64, static_cast<uint64_t>(hash.high64),
                static_cast<uint64_t>(hash.low64));
  return hex;
}

}  // namespace eroica
