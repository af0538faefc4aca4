// Whether the ranks of a host have too few processors: their threads wait for them. And for how
// long a program of somebody else may take a processor before it is more than an accident.
#pragma once

#include <cstdint>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// What a host takes from a thread at once: where others want its processor, too, the Linux
// scheduler gives each of them one turn in so long a period (kernel/sched/fair.c: 6 ms times
// 1 + log2 of the processors, for which it takes no more than eight; from 6.6 on its turns are
// shorter). Where steps are shorter, it takes as much.
inline constexpr int64_t kSchedulingPeriodNs = 24'000'000;
// The time in which one such period is a hundredth, the least cost of a claim. A shorter visit of
// somebody else's program is an accident.
inline constexpr int64_t kTimeOfAccidentsNs = 100 * kSchedulingPeriodNs;

// Of a step: where ranks wait for processors for so much of it there are too few, and it is chance
// which rank waits longest, and when.
inline constexpr double kShareOfShortage = 0.01;

// Of the time that the other ranks on the rank's host spend in steps, the share in which their
// training threads could have run and were not let (thread_function.h: kWaitForProcessor), from 0
// to 1. 0 where nobody recorded it, and where there are no others.
double ShareOthersWaitForProcessors(const CrossRankView& view, RankIndex rank);

// How long the rank, which has steps, and the others on its host wait for a processor in a mean
// step of the rank. A rank that waits for none in a window of milliseconds may wait in the next:
// where windows are shorter than kTimeOfAccidentsNs the others wait as the ranks of the job did
// over so much time, if that is longer.
struct ProcessorWaits {
  double own_ns = 0;
  double others_ns = 0;
  double step_ns = 0;
  double steps = 0;
  bool are_shared() const { return others_ns >= kShareOfShortage * step_ns && others_ns > 0; }
};
ProcessorWaits ProcessorWaitsOf(const CrossRankView& view, RankIndex rank);

}  // namespace eroica
