#include "diagnosis/report/finding_measures.h"

#include <algorithm>
#include <utility>

namespace eroica {

const Measure* FindMeasure(const Finding& finding, std::string_view name) {
  const auto found = std::ranges::find(finding.evidence, name, &Measure::name);
  return found != finding.evidence.end() ? &*found : nullptr;
}

const Measure* FindLasted(const Finding& finding) { return FindMeasure(finding, "lasted"); }
Measure* FindLasted(Finding& finding) {
  return const_cast<Measure*>(FindLasted(std::as_const(finding)));
}

const Measure* SlowSteps(const Finding& finding) {
  const Measure* slow = FindMeasure(finding, "slow_steps");
  return slow != nullptr ? slow : FindMeasure(finding, "active_steps");
}

bool IsInFewSteps(const Finding& finding) {
  const Measure* slow = SlowSteps(finding);
  return slow != nullptr && 2 * slow->culprit <= static_cast<double>(slow->samples);
}

}  // namespace eroica
