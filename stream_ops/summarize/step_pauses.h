// Which steps of a window were spent in a checkpoint or an evaluation, as the marks of the rank
// say. Pure.
#pragma once

#include <span>
#include <vector>

#include "schemas/pattern_batch.h"
#include "stream_ops/pattern/interval.h"

namespace eroica {

// before: the pause that the rank was in when the window began. marks: of the window, by time, of
// any kind. steps[i] is the record of spans[i]. A step takes the pause that it begins in, or else
// the first that begins in it.
void NotePauses(Pause before, std::span<const Mark> marks, std::span<const StepSpan> spans,
                std::vector<StepRecord>* steps);

}  // namespace eroica
