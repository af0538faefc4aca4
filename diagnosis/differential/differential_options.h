// Every number that the differential comparison depends on, with where it comes from. "E" is EROICA
// (NSDI'26) section 4.3; "ours" was set with the property tests of this folder (healthy fleets
// silent, lone faults found) and is explained in README.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "diagnosis/differential/peer_sample.h"
#include "schemas/function.h"

namespace eroica {

// What is usual for a function of a class whatever its peers do: E's R_f. A pattern outside is
// unexpected by its Manhattan distance from it.
struct ExpectationRange {
  PatternPoint low{0, 0, 0};
  PatternPoint high{1, 1, 1};
};

// The least spread that a dimension is taken to have, relative to its median and absolute.
struct SpreadFloor {
  double relative = 0;
  double absolute = 0;
};

struct DifferentialOptions {
  // The differential distance.
  size_t sample_size = 100;  // E: N, shared by all ranks of a role (METHODS 1.10 #1)
  double distance = 0.4;     // E: delta, over normalized patterns
  double mad_factor = 5;     // E: k
  // ours: Delta above its median; a MAD of 0 would flag the first rank off the cloud
  double min_excess = 0.15;
  double min_beta = 0.01;  // E
  PatternPoint normalization_floor{
      0.05f, 0.1f,
      0.1f};  // ours: below, a dimension's maximum does not stretch it (METHODS 1.10 #2)

  // Confirmation and the tight rule, by robust deviations (README.md).
  SpreadFloor spread_floor[kPatternDimensions] = {
      {0.02, 0.005}, {0.02, 0.01}, {0.10, 0.02}};  // ours: beta, mu, sigma
  // ours: what Delta flags must also lie this many robust standard deviations off in a dimension
  double confirm_deviation = 5;
  double tight_deviation = 8;  // ours: alone enough where the peers are tight
  // ours: tight is a spread of at most this share of the median
  double tight_relative_spread = 0.05;
  uint32_t tight_min_members = 8;  // ours
  // ours: medians of larger roles come from that many ranks (standard error 8 % of the spread)
  size_t statistics_sample_size = 255;
  size_t max_scores = 4'096;  // ours: per function and role, the worst; more are only counted

  // E gives Python, collectives and kernels; the memory range and the host's CPU operators (like
  // Python, METHODS 1.7) are ours. A function that waits for peers is judged as a collective: the
  // time is the communication's, wherever it shows.
  ExpectationRange python{.high = {0.01f, 1, 1}};
  ExpectationRange collective{.high = {0.30f, 1, 1}};
  ExpectationRange memory_op{.high = {0.10f, 1, 1}};
  ExpectationRange gpu_compute{};
  ExpectationRange cpu_op{.high = {0.01f, 1, 1}};

  const ExpectationRange& RangeOf(FunctionClass function_class, WaitKind wait,
                                  bool host_only) const;
};

}  // namespace eroica
