// How sure a finding is: one formula for all kinds.
#pragma once

#include <cstdint>

#include "schemas/finding.h"

namespace eroica {

// What the finding's window tells of what happened: the share of events that were not lost, times
// the share of ranks that report.
double ToldShare(const Finding& finding);

// confidence = 1 - kWrongOfDoubt * (1 - told * (1 - doubt)),
// doubt = (1 - first) * 3 / (windows + 2).
//
// `first` is what the claim's own evidence in one window is worth: each operator says it, by how
// many steps it holds in, how much of the loss the named function explains, and how far it is from
// the peers. Seen again in further windows, the doubt shrinks as in Laplace's rule of succession
// (after w windows that agree the next one disagrees with a probability of 1 / (w + 2)), so that
// one window leaves it as it is, four halve it and ten quarter it. What was not reported stays
// doubtful however long it lasts. How much of that doubt is wrong in the end is measured
// (deciding_numbers.h): of findings said with a confidence of 0.9 about 90 % are right
// (docs/ACCURACY.md). At most 0.99: no telemetry is certain.
double ConfidenceAfter(double first, uint64_t windows, double told);

// `first` of a finding whose confidence is that of its first window.
double FirstOf(double confidence, double told);

}  // namespace eroica
