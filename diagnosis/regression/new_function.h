// Work that a job has taken up: a function of the training threads that its past did not know, or
// one of any class that takes far more than it ever did, and that the steps are longer by. Steps
// that vary with their inputs hide a change of their length; what all ranks run in every step now
// they do not hide.
#pragma once

#include <optional>

#include "diagnosis/measurements/cross_rank_view.h"
#include "diagnosis/regression/job_change.h"

namespace eroica {

struct NewFunctionOptions {
  size_t min_past = 2;      // windows before
  size_t min_since = 2;     // the newest ones, in which it is new
  double min_share = 0.03;  // of a step, that all of them together take more; the one that is named
  double min_share_of_one = 0.01;  // takes so much
  // of what it takes now, in any window before: what warm-up or a collection ran is not new
  double max_before = 0.25;
  size_t min_past_of_grown = 4;  // windows before, to tell by how much a function varies:
  double min_growth = 0.25;      // over the most that it took in any of them, and
  double min_over_range = 3;     // times how far they lie apart,
  // of its growth that half of the kernel time shows: longer inputs lengthen all kernels
  double max_of_kernels = 0.25;
  // of what it takes on the stage that is late by it, for which the typical rank runs it
  double min_hidden = 0.75;
  // of what it takes, by which the median step is longer: no function that only took another's
  // place
  double min_longer = 0.5;
};

struct NewFunction {
  const FunctionPattern* row = nullptr;  // of the newest profile
  double before_ns = 0;                  // a step: the most of any window before
  double now_ns = 0;                     // the least of the windows since
  JobChange change;                      // of median steps
  bool grown = false;                    // the past knew it; it takes far more than it ever did
};

// The one that takes most, of those that are new in all of the newest windows; the window before
// these may have the change in its midst, and need not be the past's. `history` as
// PastWindows::profiles.
std::optional<NewFunction> FindNewFunction(const CrossRankView& view,
                                           std::span<const PatternBatch> history,
                                           const NewFunctionOptions& options);

}  // namespace eroica
