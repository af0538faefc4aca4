// The score: what is counted over many judged runs. Pure; the same runs give the same score in
// whatever order they come.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/evaluation/score/scored_run.h"

namespace eroica {

// By ranks: up to 64, 512, 4096, and more.
inline constexpr int kScaleCount = 4;
int ScaleOf(uint32_t ranks);
std::string_view ScaleName(int scale);

// By how much longer a step takes: under 1 %, 1 to 3 %, more (or the job hangs), and what is not
// known.
enum class EffectClass : uint8_t { kSmall = 0, kMiddle = 1, kLarge = 2, kUnknown = 3 };
inline constexpr int kEffectClassCount = 4;
EffectClass EffectClassOf(std::optional<double> effect, bool hangs);
std::string_view ToString(EffectClass effect);

// Runs in which something had to be found. Each fault counts, where a run has several. What may be
// found and need not be counts nowhere but in the confidence and among the kinds.
struct FaultCounts {
  uint32_t runs = 0;
  uint32_t faults = 0;
  uint32_t found = 0;
  uint32_t right_rank = 0;
  uint32_t right_function = 0;  // and rank
  uint32_t right_kind = 0;      // of those found
  uint32_t right = 0;           // rank, function and kind
  uint32_t false_findings = 0;
  uint32_t repetitions = 0;
  std::vector<int64_t> windows;  // to the right culprit, of each fault for which it was named
  std::vector<double> effects;   // on the step time, of each fault for which it is known
};

// Runs in which nothing had to be found.
struct QuietCounts {
  uint32_t runs = 0;
  double job_hours = 0;
  uint32_t false_findings = 0;
  uint32_t runs_disturbed = 0;  // with at least one
};

// Findings said with a confidence between two bounds, and how many of them were right in culprit
// and kind.
inline constexpr std::array<double, 7> kConfidenceBounds = {0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};
struct ConfidenceBin {
  uint32_t said = 0;
  uint32_t right = 0;
  double confidence_sum = 0;
};

struct FamilyScale {
  std::string family;
  int scale = 0;
  friend auto operator<=>(const FamilyScale&, const FamilyScale&) = default;
};

// Of one method.
struct MethodScore {
  std::string method;
  FaultCounts total;
  QuietCounts quiet_total;
  std::map<FamilyScale, FaultCounts> families;
  std::map<FamilyScale, QuietCounts> quiet;
  std::array<FaultCounts, kScaleCount> by_scale;
  // of these the faults of EffectClass::kLarge
  std::array<FaultCounts, kScaleCount> large_by_scale;
  // By what each fault costs alone. False findings and repetitions count where the costliest fault
  // of their run does.
  std::array<FaultCounts, kEffectClassCount> by_effect;
  // Expected kind (the first that is right; "nothing" for false findings) and said kind ("nothing"
  // for misses).
  std::map<std::string, std::map<std::string, uint32_t>> confusion;
  std::array<ConfidenceBin, kConfidenceBounds.size() - 1> confidence;
};

// One a method, in the order in which methods first come.
std::vector<MethodScore> Score(std::span<const ScoredRun> runs);

// Nothing said: -1.
double Median(std::vector<double> values);

}  // namespace eroica
