// Busy time: what is left of a rank's step when the time in which it only waited for other ranks is
// taken away. In a synchronizing job every rank's step takes equally long, so step time names
// nobody; the rank with more busy time than the others of its role is the one that they wait for
// (METHODS 6 and 8: "who waits least names the rank"; StageFrontier's accounting, METHODS 9).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// Where an excess begins within the window: no step before is slow, and all from there on are, at
// least kFewest of them. steps: from there on. p_value: as BusyTime::p_value, of these steps, for
// any beginning that the window could have had.
struct Onset {
  static constexpr uint32_t kFewest = 3;
  int64_t first_step = -1;  // -1: it does not begin within the window
  uint32_t steps = 0;
  double p_value = 1;
};

// Of one rank against the other ranks of its role, over the training steps that they all report.
struct BusyTime {
  RankIndex rank = 0;
  uint32_t role = 0;
  uint32_t steps = 0;        // compared
  uint32_t peers = 0;        // other ranks of the role
  double step_ns = 0;        // mean duration of the rank's steps
  double busy_ns = 0;        // mean a step
  double wait_ns = 0;        // mean a step
  double peers_busy_ns = 0;  // median over the peers of their mean
  double excess_ns = 0;      // mean over steps of busy - median of the peers' busy in the same step
  // what a healthy rank's excess may be off by: the larger of the peers' spread and the error of
  // the mean
  double noise_ns = 0;
  // the same without the step in which it is largest: next to nothing where the excess came once
  double lasting_ns = 0;
  uint32_t slow_steps = 0;  // steps in which the rank alone lost at least half of the mean excess
  // Probability that uneven steps alone make one given rank's excess that large: t-test with the
  // variance that steps show between the ranks, pooled over the role. Unlike separation() it asks
  // whether the same ranks are slow in all steps, however different the ranks are among each other.
  // Where steps of a rank go with the one before, as many of them tell less (AR(1)).
  double p_value = 1;  // where there is no excess, nothing is asked
  // what that test takes for the standard error of the excess, 0 where it was not made; and its
  // degrees of freedom
  double error_ns = 0;
  double freedom = 0;
  Onset onset;

  bool begins_within() const { return onset.first_step >= 0; }
  // The steps that were watched for the excess, how many of them show it, and the p-value of that:
  // since its beginning, where that lies within the window.
  uint32_t watched_steps() const { return begins_within() ? onset.steps : steps; }
  uint32_t slow_watched() const { return begins_within() ? onset.steps : slow_steps; }
  double p_value_watched() const { return begins_within() ? onset.p_value : p_value; }
  double share() const { return step_ns > 0 ? excess_ns / step_ns : 0; }
  double separation() const { return noise_ns > 0 ? excess_ns / noise_ns : 0; }
};

// One entry for each rank that has a peer with the same steps, by rank. A rank that lacks some
// steps of its role is compared over those that all such ranks have, if it has at least half; they
// take no step from the others. Operators ask CrossRankView::busy_times().
std::vector<BusyTime> CompareBusyTime(std::span<const RankView> ranks, uint32_t role_count);

}  // namespace eroica
