// Measures of a finding that more than the operator which made them reads. All lookups: nullptr
// where the finding has none.
#pragma once

#include <string_view>

#include "schemas/finding.h"

namespace eroica {

const Measure* FindMeasure(const Finding& finding, std::string_view name);

// How long a finding has lasted: in ns, and in how many windows it was seen. Every finding has this
// measure.
const Measure* FindLasted(const Finding& finding);
Measure* FindLasted(Finding& finding);

// In how many of its steps a slow rank was slow, or ran what it is slow in.
const Measure* SlowSteps(const Finding& finding);

// Whether it says so, and that these are half of its steps or fewer.
bool IsInFewSteps(const Finding& finding);

// By how much a rank is late, in multiples of what noise makes its peers late by.
inline constexpr std::string_view kExcessOverNoise = "excess_over_noise";

// How often the steps of one window, uneven as they are, make a given rank late by so much
// (busy_time.h).
inline constexpr std::string_view kPValueOfExcess = "p_value_of_excess";

// Of a slow path between two hosts: how many pairs of ranks exchange data over it, of which the
// claim names the worst.
inline constexpr std::string_view kSlowPairs = "slow_pairs";

// Of a claim that one window is too little for: its threshold says in how many of the newest
// windows it must have been made.
inline constexpr std::string_view kSeenInWindows = "seen_in_windows";

// Of a claim that may be chance, on a host that is short of processors: how long the rank and the
// others on its host wait for one, a step. The same rank must be claimed more often than by chance
// (ledger/claim_memory.h).
inline constexpr std::string_view kSharedProcessors = "wait_for_processor_per_step";

// In how many windows one that looks back over several saw it.
inline constexpr std::string_view kSlowWindows = "slow_windows";

// How many measurements of different origin say what is claimed, none of which uneven work, or a
// few uneven steps, change; its threshold says how many of them make one window enough.
inline constexpr std::string_view kSignsThatAgree = "signs_that_agree";

}  // namespace eroica
