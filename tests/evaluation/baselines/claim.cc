#include "tests/evaluation/baselines/claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace eroica {
namespace {

constexpr size_t kRanksInTitle = 8;

}  // namespace

Finding ToFinding(const CrossRankView& view, const DiagnosisOperator& baseline, Claim claim) {
  Finding finding;
  finding.job = view.job();
  finding.kind = claim.kind;
  finding.subkind = std::move(claim.subkind);
  finding.confidence = 0.5;
  finding.first_window = view.window_index();
  finding.last_window = view.window_index();
  for (const RankId rank : claim.ranks) {
    Culprit culprit{.rank = static_cast<int32_t>(rank.value), .peer = claim.peer};
    if (const RankView* known = view.FindRank(rank); known != nullptr) {
      culprit.host = known->batch->host;
      culprit.device = known->batch->device;
    }
    finding.culprits.push_back(std::move(culprit));
  }
  if (claim.function != nullptr) {
    finding.function = claim.function->name;
    finding.stack = claim.function->stack;
    finding.function_class = claim.function->function_class;
  }
  finding.evidence = std::move(claim.evidence);
  finding.title = std::move(claim.title);
  finding.operator_name = baseline.name();
  finding.operator_version = baseline.version();
  finding.ranks_seen = static_cast<uint32_t>(view.ranks().size());
  finding.world_size = view.world_size();
  finding.id = FindingId(finding);
  return finding;
}

std::string RankList(const std::vector<RankId>& ranks) {
  if (ranks.empty()) return "no rank";
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  const size_t shown = std::min(kRanksInTitle, ranks.size());
  for (size_t i = 0; i < shown; ++i)
    text += fmt::format("{} {}", i == 0 ? "" : ",", ranks[i].value);
  if (shown < ranks.size()) text += fmt::format(" and {} more", ranks.size() - shown);
  return text;
}

double MeanDuration(const FunctionPattern& pattern) {
  return pattern.count == 0
             ? 0
             : static_cast<double>(pattern.total_ns) / static_cast<double>(pattern.count);
}

}  // namespace eroica
