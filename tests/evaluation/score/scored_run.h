// What one method said of one run of one scenario, judged: a line under the score.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/evaluation/score/verdict.h"

namespace eroica {

// A run of one scenario with one seed, the same for all methods.
struct RunFacts {
  std::string scenario;
  std::string family;
  uint64_t seed = 0;
  uint32_t ranks = 0;
  double job_hours = 0;  // of the training job, as it would have run
  std::optional<double>
      // by how much the faults lengthen a step, as a share of the step without them; nothing where
      // there is no fault, or no twin to compare with
      effect;
  bool hangs = false;
};

struct ScoredRun {
  std::string method;
  RunFacts facts;
  std::vector<Truth> truths;
  std::vector<SaidFinding> said;
  RunVerdict verdict;  // of these two
};

// "slow_rank of rank 5 in gemm (window 3)": who, what and when, in a few words.
std::string Brief(const SaidFinding& said);
std::string Brief(const ExpectedFinding& expected);

}  // namespace eroica
