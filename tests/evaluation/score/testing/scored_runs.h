// Judged runs for tests, made of a few words each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/evaluation/score/scored_run.h"

namespace eroica::testing {

inline Truth SlowRank(uint32_t rank) {
  return {.expected = {.kinds = {FindingKind::kSlowRank}, .ranks = {rank}, .functions = {"gemm"}}};
}

inline SaidFinding Says(FindingKind kind, int32_t rank, double confidence = 0.9,
                        std::string function = "gemm", int64_t window = 0) {
  SaidFinding said{.opened_window = window};
  said.finding.kind = kind;
  if (rank >= 0) said.finding.culprits = {{.rank = rank}};
  said.finding.function = std::move(function);
  said.finding.confidence = confidence;
  said.finding.last_window = 9;
  return said;
}

inline ScoredRun Judged(RunFacts facts, std::vector<Truth> truths, std::vector<SaidFinding> said,
                        std::string method = "eroica") {
  ScoredRun run{.method = std::move(method),
                .facts = std::move(facts),
                .truths = std::move(truths),
                .said = std::move(said)};
  for (Truth& truth : run.truths) truth.effect = run.facts.effect;
  run.verdict = Judge(run.truths, run.said, 8);
  return run;
}

inline RunFacts Faulty(uint64_t seed, uint32_t ranks = 64, double effect = 0.1) {
  return {.scenario = "gpu_slow_" + std::to_string(ranks),
          .family = "gpu slow",
          .seed = seed,
          .ranks = ranks,
          .job_hours = 0.5,
          .effect = effect};
}
inline RunFacts Healthy(uint64_t seed) {
  return {.scenario = "healthy", .family = "healthy", .seed = seed, .ranks = 128, .job_hours = 2};
}

}  // namespace eroica::testing
