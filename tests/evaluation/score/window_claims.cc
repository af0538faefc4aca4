#include "tests/evaluation/score/window_claims.h"

#include <fmt/format.h>

#include <algorithm>

namespace eroica {

WindowClaims::Identity WindowClaims::IdentityOf(const Finding& finding) {
  std::vector<std::string> culprits;
  for (const Culprit& culprit : finding.culprits)
    culprits.push_back(fmt::format("{} {} {}", culprit.rank, culprit.peer, culprit.host));
  std::sort(culprits.begin(), culprits.end());
  return {finding.kind, std::move(culprits)};
}

void WindowClaims::Add(int64_t window, std::vector<Finding> claims) {
  windows_.insert(window);
  for (Finding& finding : claims) {
    Claim& claim = claims_[IdentityOf(finding)];
    if (!claim.windows.insert(window).second) continue;
    const auto [named, is_new] =
        claim.index.try_emplace(finding.stack + '\n' + finding.function, claim.functions.size());
    if (is_new) claim.functions.push_back({.windows = 0, .first = std::move(finding)});
    ++claim.functions[named->second].windows;
  }
}

std::vector<SaidFinding> WindowClaims::Standing(int64_t first_window) const {
  std::vector<SaidFinding> standing;
  const auto after = [first_window](const std::set<int64_t>& windows) {
    return std::distance(windows.lower_bound(first_window), windows.end());
  };
  const std::ptrdiff_t total = after(windows_);
  for (const auto& [identity, claim] : claims_) {
    const std::ptrdiff_t made = after(claim.windows);
    if (made == 0 || 2 * made < total) continue;
    const auto most =
        std::max_element(claim.functions.begin(), claim.functions.end(),
                         [](const Named& a, const Named& b) { return a.windows < b.windows; });
    SaidFinding said{.finding = most->first,
                     .opened_window = *claim.windows.lower_bound(first_window)};
    said.finding.first_window = *claim.windows.begin();
    said.finding.last_window = *claim.windows.rbegin();
    said.finding.id = FindingId(said.finding);
    standing.push_back(std::move(said));
  }
  return standing;
}

}  // namespace eroica
