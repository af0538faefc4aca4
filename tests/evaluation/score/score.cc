#include "tests/evaluation/score/score.h"

#include <algorithm>
#include <tuple>

namespace eroica {
namespace {

constexpr std::array<uint32_t, kScaleCount - 1> kScaleBounds = {64, 512, 4096};

void CountFault(const Truth& truth, const TruthVerdict& verdict, FaultCounts& counts) {
  if (!verdict.required) return;
  ++counts.faults;
  if (truth.effect) counts.effects.push_back(*truth.effect);
  if (!verdict.found()) return;
  ++counts.found;
  if (verdict.agreement.rank) ++counts.right_rank;
  if (verdict.agreement.culprit()) ++counts.right_function;
  if (verdict.agreement.kind) ++counts.right_kind;
  if (verdict.agreement.all()) ++counts.right;
  if (verdict.windows > 0) counts.windows.push_back(verdict.windows);
}

void CountSaid(const ScoredRun& run, FaultCounts& counts) {
  counts.false_findings += static_cast<uint32_t>(run.verdict.false_findings());
  counts.repetitions += static_cast<uint32_t>(run.verdict.repetitions());
}

void Count(const ScoredRun& run, FaultCounts& counts) {
  ++counts.runs;
  CountSaid(run, counts);
  for (size_t i = 0; i < run.truths.size(); ++i)
    CountFault(run.truths[i], run.verdict.truths[i], counts);
}

void CountByEffect(const ScoredRun& run, std::array<FaultCounts, kEffectClassCount>& by_effect) {
  std::array<bool, kEffectClassCount> seen = {};
  for (size_t i = 0; i < run.truths.size(); ++i) {
    if (!run.verdict.truths[i].required) continue;
    const auto effect = static_cast<size_t>(EffectClassOf(run.truths[i].effect, run.facts.hangs));
    CountFault(run.truths[i], run.verdict.truths[i], by_effect[effect]);
    seen[effect] = true;
  }
  for (size_t effect = 0; effect < seen.size(); ++effect)
    by_effect[effect].runs += seen[effect] ? 1 : 0;
  for (const EffectClass costliest :
       {EffectClass::kLarge, EffectClass::kMiddle, EffectClass::kSmall, EffectClass::kUnknown}) {
    if (!seen[static_cast<size_t>(costliest)]) continue;
    CountSaid(run, by_effect[static_cast<size_t>(costliest)]);
    return;
  }
}

void Count(const ScoredRun& run, QuietCounts& counts) {
  ++counts.runs;
  counts.job_hours += run.facts.job_hours;
  counts.false_findings += static_cast<uint32_t>(run.verdict.false_findings());
  if (run.verdict.false_findings() > 0) ++counts.runs_disturbed;
}

void CountKinds(const ScoredRun& run, MethodScore& score) {
  for (size_t i = 0; i < run.truths.size(); ++i) {
    const std::vector<FindingKind>& kinds = run.truths[i].expected.kinds;
    const TruthVerdict& verdict = run.verdict.truths[i];
    if (!verdict.required && !verdict.found()) continue;
    std::string said = "nothing";
    std::string expected = kinds.empty() ? "any" : std::string(ToString(kinds.front()));
    if (verdict.found()) {
      const FindingKind kind = run.said[static_cast<size_t>(verdict.said)].finding.kind;
      said = ToString(kind);
      if (verdict.agreement.kind) expected = said;  // one of several right kinds
    }
    ++score.confusion[expected][said];
  }
  for (size_t i = 0; i < run.said.size(); ++i) {
    if (run.verdict.said[i].truth < 0)
      ++score.confusion["nothing"][std::string(ToString(run.said[i].finding.kind))];
  }
}

void CountConfidence(const ScoredRun& run, MethodScore& score) {
  for (size_t i = 0; i < run.said.size(); ++i) {
    const double confidence = run.said[i].finding.confidence;
    size_t bin = score.confidence.size() - 1;
    while (bin > 0 && confidence < kConfidenceBounds[bin]) --bin;
    ++score.confidence[bin].said;
    score.confidence[bin].confidence_sum += confidence;
    const SaidVerdict& verdict = run.verdict.said[i];
    if (verdict.truth >= 0 && verdict.agreement.all()) ++score.confidence[bin].right;
  }
}

}  // namespace

int ScaleOf(uint32_t ranks) {
  return static_cast<int>(std::lower_bound(kScaleBounds.begin(), kScaleBounds.end(), ranks) -
                          kScaleBounds.begin());
}

std::string_view ScaleName(int scale) {
  constexpr std::array<std::string_view, kScaleCount> kNames = {"up to 64", "65 to 512",
                                                                "513 to 4096", "over 4096"};
  return kNames[static_cast<size_t>(scale)];
}

EffectClass EffectClassOf(std::optional<double> effect, bool hangs) {
  constexpr double kLarge = 0.03;
  constexpr double kMiddle = 0.01;
  if (hangs) return EffectClass::kLarge;
  if (!effect) return EffectClass::kUnknown;
  if (*effect >= kLarge) return EffectClass::kLarge;
  return *effect >= kMiddle ? EffectClass::kMiddle : EffectClass::kSmall;
}

std::string_view ToString(EffectClass effect) {
  switch (effect) {
    case EffectClass::kSmall: return "under 1 %";
    case EffectClass::kMiddle: return "1 to 3 %";
    case EffectClass::kLarge: return "3 % and more";
    case EffectClass::kUnknown: return "not known";
  }
  return "unknown";
}

std::vector<MethodScore> Score(std::span<const ScoredRun> runs) {
  std::vector<const ScoredRun*> order;
  std::vector<MethodScore> scores;
  std::map<std::string, size_t> index;
  for (const ScoredRun& run : runs) {
    order.push_back(&run);
    if (index.try_emplace(run.method, scores.size()).second)
      scores.push_back({.method = run.method});
  }
  // Sums of floating point come out the same whatever run ended first.
  std::stable_sort(order.begin(), order.end(), [](const ScoredRun* a, const ScoredRun* b) {
    return std::tie(a->facts.scenario, a->facts.seed) < std::tie(b->facts.scenario, b->facts.seed);
  });
  for (const ScoredRun* run : order) {
    MethodScore& score = scores[index[run->method]];
    const int scale = ScaleOf(run->facts.ranks);
    CountKinds(*run, score);
    CountConfidence(*run, score);
    if (run->verdict.quiet()) {
      Count(*run, score.quiet_total);
      Count(*run, score.quiet[{run->facts.family, scale}]);
      continue;
    }
    Count(*run, score.total);
    Count(*run, score.families[{run->facts.family, scale}]);
    Count(*run, score.by_scale[static_cast<size_t>(scale)]);
    CountByEffect(*run, score.by_effect);
    for (size_t i = 0; i < run->truths.size(); ++i) {
      const bool large =
          EffectClassOf(run->truths[i].effect, run->facts.hangs) == EffectClass::kLarge;
      if (large)
        CountFault(run->truths[i], run->verdict.truths[i],
                   score.large_by_scale[static_cast<size_t>(scale)]);
    }
  }
  return scores;
}

double Median(std::vector<double> values) {
  if (values.empty()) return -1;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace eroica
