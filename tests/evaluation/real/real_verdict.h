// Judges one way of recording a real job: what was said against what had to be said by those who
// see only what is recorded. Pure.
//
// Where the culprit is not among the recorded ranks, nobody who is may be blamed, and no network,
// host or data; that missing ranks are the first suspects, or the name of one, is right. The same
// suspicion is wrong where none of them is at fault; beside a finding that names who is, the run is
// partly right. That nobody can tell, as too little is recorded, is undecided; of a healthy job,
// too. That all ranks are slower where one is, is wrong. Without stacks no function has to be
// named. Findings about gaps of the telemetry blame nobody and are passed over.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ops/cli/capture_gaps.h"
#include "tests/evaluation/real/variation.h"
#include "tests/evaluation/score/verdict.h"

namespace eroica {

// The worse last.
enum class RealOutcome : uint8_t {
  kRight = 0,  // of a healthy job: silence
  // Nobody is blamed who is not at fault, but not all is right: the rank without its function, the
  // kind of fault without who it is, one of two faults.
  kPartly = 1,
  kUnsure = 2,  // said to be undecided: blames nobody
  kMissed = 3,  // silent where something was to be said
  kWrong = 4,   // blames somebody or something that is not at fault
};
inline constexpr int kRealOutcomeCount = 5;
std::string_view ToString(RealOutcome outcome);  // one word

// What those who see only what is recorded have to find.
struct RealTruth {
  // Of whom culprits are recorded, and these only; and what blames no rank.
  std::vector<ExpectedFinding> recorded;
  std::vector<ExpectedFinding> unrecorded;  // the others
  // All ranks that are at fault and both ends of links that are, recorded or not; ascending.
  std::vector<uint32_t> guilty;
  std::vector<uint32_t> ranks;  // that are recorded, ascending
  bool all_recorded = true;
  bool stacks = true;
  int64_t first_window = 0;     // in which the fault can show; what is over before it is wrong
  uint32_t ranks_per_host = 0;  // as in Judge
  bool healthy = true;
};
RealTruth TruthOf(const RealJob& job, const Variation& variation);

struct RealVerdict {
  RealOutcome outcome = RealOutcome::kRight;
  std::vector<bool> wrong;  // of each finding, as given
  // The ranks that are missing are suspected where none of them is at fault.
  bool wrong_suspects = false;
};
// gaps: what the program says of what was not recorded, beside its findings or in their place.
RealVerdict JudgeReal(const RealTruth& truth, std::span<const SaidFinding> said,
                      const CaptureGaps& gaps);

}  // namespace eroica
