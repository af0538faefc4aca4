// A part of a batch: what lies in a stretch of time. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/event_batch.h"

namespace eroica {

struct TimeRange {
  int64_t begin_ns = 0;  // inclusive, by the rank's own clock
  int64_t end_ns = 0;    // exclusive
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

// The intervals that begin in the range, and those that reach into it, cut at its begin; of them
// the first intervals_max. Collectives and marks with them; a step that ends with the range keeps
// its end. Nothing else of the batch: samples, progress, connections, losses stay out.
EventBatch CutBatch(const EventBatch& batch, const TimeRange& range, size_t intervals_max);

// How many intervals of the batch such a cut would keep, were there no most.
size_t IntervalsIn(const EventBatch& batch, const TimeRange& range);

}  // namespace eroica
