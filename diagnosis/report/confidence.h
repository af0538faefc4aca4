// How sure a finding is: one formula for all kinds.
#pragma once

#include <cstdint>

#include "schemas/finding.h"

namespace eroica {

// What the finding's window tells of what happened: the share of events that were not lost, times
// the share of ranks that report.
double ToldShare(const Finding& finding);

// confidence = told * (1 - doubt), doubt = (1 - first) * 3 / (windows + 2).
//
// `first` is what the claim's own evidence in one window is worth: each operator says it, by how
// many steps it holds in, how much of the loss the named function explains, and how far it is from
// the peers. Seen again in further windows, the doubt shrinks as in Laplace's rule of succession
// (after w windows that agree the next one disagrees with a chance of 1 / (w + 2)), so that one
// window leaves it as it is, four halve it and ten quarter it. What was not told stays doubtful
// however long it lasts. docs/ACCURACY.md has the table that says how often findings of a
// confidence are right.
double ConfidenceAfter(double first, uint64_t windows, double told);

}  // namespace eroica
