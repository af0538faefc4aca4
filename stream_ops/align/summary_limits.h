// What a summary says at most, so that it fits a payload whatever its members ran. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/codec.h"
#include "schemas/collective_summary.h"

namespace eroica {

struct SummaryLimits {
  size_t blocker_bytes = size_t{16} << 20;  // of all members, names and stacks above all
  size_t late_steps = size_t{1} << 20;      // of all members
  size_t late_steps_of_member = CodecLimits::kPatterns;
  size_t pairs = size_t{1} << 19;
};

// Of a summary, what went on without.
struct SummaryCuts {
  uint64_t blockers = 0;
  uint64_t late_steps = 0;
  uint64_t pairs = 0;

  SummaryCuts& operator+=(const SummaryCuts& other) {
    blockers += other.blockers;
    late_steps += other.late_steps;
    pairs += other.pairs;
    return *this;
  }
  friend bool operator==(const SummaryCuts&, const SummaryCuts&) = default;
};

// Keeps the blockers that caused the most wait, whosesoever they are; of late steps and pairs the
// first.
SummaryCuts CutToLimits(const SummaryLimits& limits, CollectiveSummary* summary);

}  // namespace eroica
