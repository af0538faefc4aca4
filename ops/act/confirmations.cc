#include "ops/act/confirmations.h"

#include <algorithm>

namespace eroica {

void Confirmations::Take(int32_t partition, const Finding& finding) {
  if (finding.state == FindingState::kResolved) {
    by_id_.erase(finding.id);
    return;
  }
  Windows& windows = by_id_[finding.id];
  windows.partition = partition;
  windows.taken = ++taken_;
  windows.said.insert(finding.last_window);
  const int64_t oldest = *windows.said.rbegin() - kWindowsKept;
  windows.said.erase(windows.said.begin(), windows.said.upper_bound(oldest));
  if (by_id_.size() > kFindingsMax) MakeRoom();
}

void Confirmations::Forget(int32_t partition) {
  std::erase_if(by_id_, [&](const auto& entry) { return entry.second.partition == partition; });
}

int64_t Confirmations::InARow(const std::string& finding_id) const {
  const auto found = by_id_.find(finding_id);
  if (found == by_id_.end()) return 0;
  const std::set<int64_t>& said = found->second.said;
  int64_t count = 0;
  for (auto window = said.rbegin(); window != said.rend(); ++window) {
    if (*window != *said.rbegin() - count) break;
    ++count;
  }
  return count;
}

int64_t Confirmations::Within(const std::string& finding_id, int64_t of) const {
  const auto found = by_id_.find(finding_id);
  if (found == by_id_.end()) return 0;
  const std::set<int64_t>& said = found->second.said;
  return std::distance(said.upper_bound(*said.rbegin() - of), said.end());
}

// The one that was heard of longest ago.
void Confirmations::MakeRoom() {
  by_id_.erase(
      std::ranges::min_element(by_id_, {}, [](const auto& entry) { return entry.second.taken; }));
}

}  // namespace eroica
