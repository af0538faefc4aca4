#include "tests/evaluation/score/score_json.h"

#include <nlohmann/json.hpp>

namespace eroica {
namespace {

using nlohmann::ordered_json;

ordered_json ToJson(const FaultCounts& counts) {
  return {{"runs", counts.runs},
          {"faults", counts.faults},
          {"found", counts.found},
          {"right_rank", counts.right_rank},
          {"right_rank_and_function", counts.right_function},
          {"right_kind", counts.right_kind},
          {"right", counts.right},
          {"false_findings", counts.false_findings},
          {"repetitions", counts.repetitions},
          {"median_windows", Median({counts.windows.begin(), counts.windows.end()})},
          {"median_effect",
           counts.effects.empty() ? ordered_json() : ordered_json(Median(counts.effects))}};
}

ordered_json ToJson(const QuietCounts& counts) {
  return {{"runs", counts.runs},
          {"runs_disturbed", counts.runs_disturbed},
          {"job_hours", counts.job_hours},
          {"false_findings", counts.false_findings}};
}

template <typename Counts>
ordered_json Rows(const std::map<FamilyScale, Counts>& families) {
  ordered_json rows = ordered_json::array();
  for (const auto& [key, counts] : families) {
    ordered_json row = {{"family", key.family}, {"ranks", ScaleName(key.scale)}};
    row.update(ToJson(counts));
    rows.push_back(std::move(row));
  }
  return rows;
}

template <size_t kCount>
ordered_json Rows(const std::array<ConfidenceBin, kCount>& bins) {
  ordered_json rows = ordered_json::array();
  for (size_t i = 0; i < kCount; ++i) {
    rows.push_back({{"from", kConfidenceBounds[i]},
                    {"to", kConfidenceBounds[i + 1]},
                    {"said", bins[i].said},
                    {"right", bins[i].right},
                    {"confidence_sum", bins[i].confidence_sum}});
  }
  return rows;
}

ordered_json ToJson(const MethodScore& score) {
  ordered_json effects;
  for (int i = 0; i < kEffectClassCount; ++i)
    effects[std::string(ToString(static_cast<EffectClass>(i)))] =
        ToJson(score.by_effect[static_cast<size_t>(i)]);
  ordered_json scales;
  for (int i = 0; i < kScaleCount; ++i)
    scales[std::string(ScaleName(i))] = ToJson(score.by_scale[static_cast<size_t>(i)]);
  return {{"method", score.method},
          {"faults", ToJson(score.total)},
          {"quiet", ToJson(score.quiet_total)},
          {"by_family", Rows(score.families)},
          {"quiet_by_family", Rows(score.quiet)},
          {"by_ranks", std::move(scales)},
          {"by_effect", std::move(effects)},
          {"confusion", score.confusion},
          {"confidence", Rows(score.confidence)}};
}

ordered_json ToJson(const Agreement& agreement) {
  return {{"rank", agreement.rank}, {"function", agreement.function}, {"kind", agreement.kind}};
}

ordered_json ToJson(const ScoredRun& run) {
  ordered_json truths = ordered_json::array();
  for (size_t i = 0; i < run.truths.size(); ++i) {
    const TruthVerdict& verdict = run.verdict.truths[i];
    truths.push_back(
        {{"expected", Brief(run.truths[i].expected)},
         {"optional", run.truths[i].expected.optional},
         {"found", verdict.found()},
         {"agreement", ToJson(verdict.agreement)},
         {"windows", verdict.windows},
         {"effect", run.truths[i].effect ? ordered_json(*run.truths[i].effect) : ordered_json()}});
  }
  ordered_json said = ordered_json::array();
  for (size_t i = 0; i < run.said.size(); ++i) {
    const SaidVerdict& verdict = run.verdict.said[i];
    const Finding& finding = run.said[i].finding;
    said.push_back({{"finding", Brief(run.said[i])},
                    {"kind", ToString(finding.kind)},
                    {"subkind", finding.subkind},
                    {"confidence", finding.confidence},
                    {"lost_ns_per_step", finding.lost_ns_per_step},
                    {"operator", finding.operator_name},
                    {"title", finding.title},
                    {"false", verdict.truth < 0},
                    {"repeats", verdict.repeats},
                    {"agreement", ToJson(verdict.agreement)}});
  }
  const RunFacts& facts = run.facts;
  return {{"method", run.method},
          {"scenario", facts.scenario},
          {"family", facts.family},
          {"seed", facts.seed},
          {"ranks", facts.ranks},
          {"job_hours", facts.job_hours},
          {"effect", facts.effect ? ordered_json(*facts.effect) : ordered_json()},
          {"hangs", facts.hangs},
          {"right", run.verdict.right()},
          {"expected", std::move(truths)},
          {"said", std::move(said)}};
}

}  // namespace

std::string ScoreJson(std::span<const MethodScore> scores, std::span<const ScoredRun> runs) {
  ordered_json json = {{"methods", ordered_json::array()}, {"runs", ordered_json::array()}};
  for (const MethodScore& score : scores) json["methods"].push_back(ToJson(score));
  for (const ScoredRun& run : runs) json["runs"].push_back(ToJson(run));
  // A name from a trace may be no UTF-8.
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace eroica
