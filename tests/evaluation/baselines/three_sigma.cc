#include "tests/evaluation/baselines/three_sigma.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "diagnosis/report/duration_text.h"
#include "tests/evaluation/baselines/claim.h"

namespace eroica {
namespace {

constexpr double kSigmas = 3;
// of the mean: equal durations differ by the rounding of their mean
constexpr double kEqual = 1e-9;

struct Flagged {
  const FunctionColumn* column = nullptr;
  std::vector<size_t> rows;
  size_t worst = 0;
  double sigmas = 0;  // of the worst row
  double mean_ns = 0;
  double sigma_ns = 0;
};

Flagged FlaggedOf(const FunctionColumn& column) {
  Flagged flagged{.column = &column};
  std::vector<double> durations;
  for (const FunctionPattern* pattern : column.pattern) durations.push_back(MeanDuration(*pattern));
  const double count = static_cast<double>(durations.size());
  for (const double duration : durations) flagged.mean_ns += duration / count;
  double square = 0;
  for (const double duration : durations)
    square += (duration - flagged.mean_ns) * (duration - flagged.mean_ns) / count;
  flagged.sigma_ns = std::sqrt(square);
  const double threshold =
      flagged.mean_ns + std::max(kSigmas * flagged.sigma_ns, kEqual * flagged.mean_ns);
  for (size_t row = 0; row < durations.size(); ++row) {
    if (durations[row] <= threshold) continue;
    flagged.rows.push_back(row);
    const double sigmas = (durations[row] - flagged.mean_ns) / flagged.sigma_ns;
    if (sigmas <= flagged.sigmas) continue;
    flagged.sigmas = sigmas;
    flagged.worst = row;
  }
  return flagged;
}

}  // namespace

void ThreeSigmaBaseline::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  std::vector<Flagged> all;
  for (const FunctionColumn& column : view.functions()) {
    Flagged flagged = FlaggedOf(column);
    if (!flagged.rows.empty()) all.push_back(std::move(flagged));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Flagged& a, const Flagged& b) { return a.sigmas > b.sigmas; });
  for (const Flagged& flagged : all) {
    Claim claim;
    for (const size_t row : flagged.rows)
      claim.ranks.push_back(view.ranks()[flagged.column->rank[row]].rank);
    claim.function = flagged.column->pattern[flagged.worst];
    const double worst = MeanDuration(*claim.function);
    claim.evidence = {{"mean_duration", "ns", worst, flagged.mean_ns,
                       flagged.mean_ns + kSigmas * flagged.sigma_ns, flagged.column->size()}};
    claim.title = fmt::format(
        "{} takes up to {} a call on {}, {:.1f} sigma over the mean of all ranks.",
        claim.function->name, DurationText(worst), RankList(claim.ranks), flagged.sigmas);
    findings.push_back(ToFinding(view, *this, std::move(claim)));
  }
}

}  // namespace eroica
