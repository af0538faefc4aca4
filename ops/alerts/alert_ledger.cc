#include "ops/alerts/alert_ledger.h"

namespace eroica {

AlertNews AlertLedger::Take(int32_t partition, const Finding& finding) {
  const auto known = open_.find(finding.id);
  if (finding.state == FindingState::kResolved) {
    if (known == open_.end()) return AlertNews::kNone;
    open_.erase(known);
    return AlertNews::kResolved;
  }
  if (known != open_.end()) {
    if (finding.severity <= known->second.severity) return AlertNews::kNone;
    known->second.severity = finding.severity;
    return AlertNews::kRaised;
  }
  if (finding.severity < least_) return AlertNews::kNone;
  open_[finding.id] = {.severity = finding.severity, .partition = partition};
  return AlertNews::kOpened;
}

void AlertLedger::Forget(int32_t partition) {
  std::erase_if(open_, [&](const auto& entry) { return entry.second.partition == partition; });
}

}  // namespace eroica
