#include "tests/evaluation/baselines/longest_duration.h"

#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/report/duration_text.h"
#include "diagnosis/statistics/robust_statistics.h"
#include "tests/evaluation/baselines/claim.h"

namespace eroica {
namespace {

constexpr float kLeastBeta = 0.01F;
constexpr double kMinRatio = 1.05;

struct Longest {
  double ratio = 0;
  double duration_ns = 0;
  double median_ns = 0;
  size_t row = 0;
};

Longest LongestOf(const FunctionColumn& column) {
  Longest longest;
  std::vector<double> durations;
  for (const FunctionPattern* pattern : column.pattern) durations.push_back(MeanDuration(*pattern));
  longest.row =
      static_cast<size_t>(std::max_element(durations.begin(), durations.end()) - durations.begin());
  longest.duration_ns = durations[longest.row];
  longest.median_ns = Median(std::span(durations));
  longest.ratio = longest.median_ns > 0 ? longest.duration_ns / longest.median_ns : 0;
  return longest;
}

}  // namespace

void LongestDurationBaseline::Evaluate(const CrossRankView& view,
                                       std::vector<Finding>& findings) const {
  const FunctionColumn* worst = nullptr;
  Longest longest;
  for (const FunctionColumn& column : view.functions()) {
    if (*std::max_element(column.beta.begin(), column.beta.end()) < kLeastBeta) continue;
    const Longest candidate = LongestOf(column);
    if (candidate.ratio <= longest.ratio) continue;
    worst = &column;
    longest = candidate;
  }
  if (worst == nullptr || longest.ratio < kMinRatio) return;
  Claim claim;
  claim.ranks = {view.ranks()[worst->rank[longest.row]].rank};
  claim.function = worst->pattern[longest.row];
  claim.evidence = {{"mean_duration", "ns", longest.duration_ns, longest.median_ns,
                     kMinRatio * longest.median_ns, worst->size()}};
  claim.title = fmt::format("{} takes {} a call on {}, {:.2f} times the median of all ranks.",
                            claim.function->name, DurationText(longest.duration_ns),
                            RankList(claim.ranks), longest.ratio);
  findings.push_back(ToFinding(view, *this, std::move(claim)));
}

}  // namespace eroica
