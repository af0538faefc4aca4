// One pass over the pattern columns of a role: what has to be known of all rows before any two are
// compared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "diagnosis/differential/differential_options.h"
#include "diagnosis/differential/peer_sample.h"

namespace eroica {

struct ColumnSummary {
  PatternPoint max{};
  // rows with mu or sigma above 0: of the others the resource is unknown, or idle
  size_t with_resource = 0;
};
ColumnSummary SummarizeColumns(const PatternColumns& columns, size_t rows);

// Manhattan distance of a pattern from what is usual for its class, 0 inside.
float ExpectationDistance(const PatternPoint& point, const ExpectationRange& range);

struct UnexpectedRows {
  uint32_t count = 0;
  double distance_sum = 0;
};
// Rows with beta over min_beta and outside of the range.
UnexpectedRows CountUnexpected(const PatternColumns& columns, size_t rows,
                               const ExpectationRange& range, float min_beta);

}  // namespace eroica
