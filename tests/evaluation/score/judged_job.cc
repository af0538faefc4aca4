#include "tests/evaluation/score/judged_job.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "tests/evaluation/score/window_claims.h"
#include "tests/evaluation/score/window_views.h"

namespace eroica {
namespace {

// Every operator's claims of every window.
absl::StatusOr<std::vector<WindowClaims>> ClaimsOf(
    JobRun& run, const std::vector<std::unique_ptr<DiagnosisOperator>>& operators) {
  std::vector<WindowClaims> claims(operators.size());
  WindowViews views([&](const CrossRankView& view) {
    for (size_t i = 0; i < operators.size(); ++i) {
      std::vector<Finding> found;
      if (operators[i]) operators[i]->Evaluate(view, found);
      for (Finding& finding : found) finding.last_window = view.window_index();
      claims[i].Add(view.window_index(), std::move(found));
    }
  });
  if (absl::Status status =
          run.ForEachPattern([&views](const ConsumerRecord& record) { return views.Add(record); });
      !status.ok())
    return status;
  views.Finish();
  return claims;
}

}  // namespace

absl::StatusOr<std::vector<ScoredRun>> JudgeJob(JobRun& run, const RunFacts& facts,
                                                const std::vector<Truth>& truths,
                                                std::span<const Method> methods,
                                                uint32_t ranks_per_host) {
  if (absl::Status status = run.Align(); !status.ok()) return status;
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  int64_t first_window = kNever;
  for (const Truth& truth : truths) {
    if (!truth.expected.optional) first_window = std::min(first_window, truth.first_window);
  }
  if (first_window == kNever) first_window = 0;
  std::vector<std::unique_ptr<DiagnosisOperator>> operators;
  for (const Method& method : methods)
    operators.push_back(method.make == nullptr ? nullptr : method.make());
  std::vector<WindowClaims> claims;
  if (std::any_of(operators.begin(), operators.end(),
                  [](const auto& one) { return one != nullptr; })) {
    absl::StatusOr<std::vector<WindowClaims>> all = ClaimsOf(run, operators);
    if (!all.ok()) return all.status();
    claims = *std::move(all);
  }
  std::vector<ScoredRun> scored;
  for (size_t i = 0; i < methods.size(); ++i) {
    ScoredRun& one = scored.emplace_back(ScoredRun{
        .method = methods[i].name, .facts = facts, .truths = truths, .said = {}, .verdict = {}});
    if (operators[i]) {
      one.said = claims[i].Standing(first_window);
    } else {
      absl::StatusOr<std::vector<SaidFinding>> said = run.Diagnose();
      if (!said.ok()) return said.status();
      one.said = *std::move(said);
    }
    one.verdict = Judge(one.truths, one.said, ranks_per_host);
  }
  return scored;
}

}  // namespace eroica
