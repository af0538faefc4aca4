// By how much the typical call of a function takes longer than is usual. Where calls of several
// lengths share a name the median lies between two of them and jumps from one to the other; so the
// deciles are compared, and the median of their changes counts.
#pragma once

#include "schemas/duration_histogram.h"

namespace eroica {

// own / usual - 1; 0 where either has no calls. What lengthens fewer than half of the calls does
// not show. Error: a 32nd, as the histogram's.
double TypicalCallGrowth(const DurationHistogram& own, const DurationHistogram& usual);

}  // namespace eroica
