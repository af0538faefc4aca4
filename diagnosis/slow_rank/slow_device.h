// A rank whose device computes slower than its peers' in everything: what ComputeGrowth says of it,
// in words.
#pragma once

#include <vector>

#include "diagnosis/hypotheses/compute_growth.h"
#include "schemas/finding.h"

namespace eroica {

// Whether the reason is the device itself, somebody else who uses it among them.
bool IsOfDevice(GrowthCause cause);

// growth.cause is one of those. A shared device is a finding of kind contention.
Finding DescribeSlowDevice(const CrossRankView& view, const BusyTime& busy,
                           const ComputeGrowth& growth, double min_separation);

// What of the growth a person believes it by; for findings of other operators that rest on it, too.
std::vector<Measure> GrowthEvidence(const BusyTime& busy, const ComputeGrowth& growth,
                                    double min_separation);

}  // namespace eroica
