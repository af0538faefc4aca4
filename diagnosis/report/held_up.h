// A rank that holds others up, as a finding names it, and whom it holds up.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/measurements/busy_time.h"
#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/finding.h"

namespace eroica {

Culprit CulpritOf(const RankView& rank);

// Every other rank that waited: it lost at most its own waiting, and at most what the culprit took
// longer. By rank.
std::vector<Victim> VictimsOf(const CrossRankView& view, const BusyTime& busy);

// "Rank 3 holds 7 other ranks up by 33.5 ms a step (29 % of 114 ms)". Without victims: by how much
// its own steps are longer, and that nobody is seen to wait for it.
std::string HoldsUpText(const RankView& rank, const BusyTime& busy,
                        const std::vector<Victim>& victims);
// The measure "wait_for_peers_per_step": without victims the peers waited for nobody.
Measure WaitForPeersOf(const BusyTime& busy, const std::vector<Victim>& victims);

// "rank 3 (host node0001)".
std::string PlaceOf(const RankView& rank);

// By how much the rank is busier than its peers, over how many steps, and how far that is from
// noise: two sentences.
std::string BusierThanPeersText(const RankView& rank, const BusyTime& busy);

// The measure "slow_steps": in how many of the steps watched the rank is slow, since its excess
// begins.
Measure SlowStepsOf(const BusyTime& busy);
// The first step of which a finding about the excess speaks.
int64_t FirstStepOf(const RankView& rank, const BusyTime& busy);
// Adds what is to be known of an excess that begins within the window, or shows in few steps.
void AddCaveatOfSteps(const BusyTime& busy, Finding* finding);

}  // namespace eroica
