#include "diagnosis/finding_lifecycle.h"

#include <algorithm>
#include <utility>

namespace eroica {

void FindingLifecycle::Restore(Finding finding) {
  if (finding.state == FindingState::kResolved) return;
  std::string id = finding.id;
  open_.insert_or_assign(std::move(id), std::move(finding));
}

std::vector<Finding> FindingLifecycle::Observe(int64_t index, std::vector<Finding> found) {
  std::vector<Finding> publish;
  for (Finding& finding : found) {
    const auto known = open_.find(finding.id);
    if (known != open_.end()) {
      finding.state = FindingState::kUpdated;
      finding.first_window = known->second.first_window;
      if (known->second.first_step >= 0) finding.first_step = known->second.first_step;
    }
    open_.insert_or_assign(finding.id, finding);
    publish.push_back(std::move(finding));
  }
  for (auto it = open_.begin(); it != open_.end();) {
    if (index - it->second.last_window < kWindowsUntilResolved) {
      ++it;
      continue;
    }
    it->second.state = FindingState::kResolved;
    publish.push_back(std::move(it->second));
    it = open_.erase(it);
  }
  std::sort(publish.begin(), publish.end(), [](const Finding& a, const Finding& b) { return a.id < b.id; });
  return publish;
}

}  // namespace eroica
