// Splits the steps of a window into their stages, as the marks of the training thread divide them.
// Pure.
#pragma once

#include <span>
#include <vector>

#include "schemas/pattern_batch.h"
#include "stream_ops/pattern/interval.h"

namespace eroica {

// marks: by time, of any kind; those inside a step count, the earliest of each kind. steps[i] is
// the record of spans[i]. The data stage begins with the step. A stage without a mark of its own is
// part of the one before it; a step without any mark of its stages has none.
void SplitIntoStages(std::span<const Mark> marks, std::span<const StepSpan> spans,
                     std::vector<StepRecord>* steps);

}  // namespace eroica
