#include "diagnosis/finding_lifecycle.h"

#include <algorithm>
#include <utility>

#include "diagnosis/shared_cause.h"

namespace eroica {
namespace {

bool Overlap(const Finding& a, const Finding& b) {
  return std::any_of(a.culprits.begin(), a.culprits.end(), [&](const Culprit& x) {
    return std::any_of(b.culprits.begin(), b.culprits.end(),
                       [&](const Culprit& y) { return x.rank == y.rank && (x.rank >= 0 || x.host == y.host); });
  });
}

// The same fault told a little differently: the same culprits for another function, or the same function with more or fewer culprits, or with another caller
// where nobody is blamed.
bool IsSameFault(const Finding& a, const Finding& b) {
  if (a.kind != b.kind || a.culprits.empty() != b.culprits.empty()) return false;
  if (a.culprits.empty()) return !a.function.empty() && a.subkind == b.subkind && a.function == b.function;
  return a.culprits == b.culprits || (a.subkind == b.subkind && a.function == b.function && Overlap(a, b));
}

}  // namespace

// An open finding that is not found again by its own id, and is the same fault.
const Finding* FindingLifecycle::FindContinued(const Finding& finding, const std::vector<Finding>& found) const {
  for (const auto& [id, open] : open_) {
    const bool found_again = std::any_of(found.begin(), found.end(), [&id = id](const Finding& f) { return f.id == id; });
    if (!found_again && IsSameFault(open, finding)) return &open;
  }
  return nullptr;
}

// Ranks that are slow in what all ranks take turns in are the same fault, seen in another window; so it goes on.
bool FindingLifecycle::IsPartOfOpen(int64_t index, const Finding& finding) {
  if (open_.contains(finding.id)) return false;
  for (auto& [id, open] : open_) {
    if (!ExplainsOnAll(open, finding)) continue;
    open.last_window = index;
    return true;
  }
  return false;
}

void FindingLifecycle::Restore(Finding finding) {
  if (finding.state == FindingState::kResolved) return;
  std::string id = finding.id;
  open_.insert_or_assign(std::move(id), std::move(finding));
}

void FindingLifecycle::Place(Finding* finding) {
  const auto known = open_.find(finding->id);
  if (known != open_.end()) {
    finding->state = FindingState::kUpdated;
    finding->first_window = known->second.first_window;
    if (known->second.first_step >= 0) finding->first_step = known->second.first_step;
  }
  open_.insert_or_assign(finding->id, *finding);
}

Finding FindingLifecycle::Report(Finding finding) {
  Place(&finding);
  return finding;
}

std::vector<Finding> FindingLifecycle::Observe(int64_t index, std::vector<Finding> found) {
  std::vector<Finding> publish;
  std::erase_if(found, [&](const Finding& finding) { return IsPartOfOpen(index, finding); });
  for (Finding& finding : found) {
    if (!open_.contains(finding.id)) {
      if (const Finding* continued = FindContinued(finding, found)) finding.id = continued->id;
    }
    Place(&finding);
    publish.push_back(finding);
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
