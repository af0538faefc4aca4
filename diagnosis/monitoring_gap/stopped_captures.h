// Captures that stood still on some ranks for most of a window: kernels that another client of
// CUPTI kept, collectives that a mask from outside switched off in NCCL. Without the finding a job
// would look as if it had none. Claim, evidence and silence: README.md beside this file. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/capture_gap.h"
#include "schemas/finding.h"

namespace eroica {

// Of a window, that a capture must have stood still for.
inline constexpr double kLeastStoppedShare = 0.5;

// At most one a capture; they name no culprit and have neither id nor state.
std::vector<Finding> FindStoppedCaptures(const CrossRankView& view);

// What is missing and why, as the subject of a sentence and its reason: "collectives", "the
// activation mask was set to 0 from outside".
struct StoppedCaptureText {
  std::string what;
  std::string why;
  std::string remedy;  // what to do, one sentence

  std::string Subject() const;  // `what` as a sentence begins
};
// gap: of a capture that stands still, not kProcesses.
StoppedCaptureText TextOf(const CaptureGap& gap);

}  // namespace eroica
