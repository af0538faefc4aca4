// What ranks are late by over many windows. A percent of a step cannot be told from uneven steps in
// one window of few; what stands in every window adds up, and what is noise does not.
//
// One observation is a rank's mean busy time of a whole WINDOW, not of a step: work that is uneven
// for a few steps in a row (routing, lengths) is averaged within it, so that observations are
// nearly independent (the method of batch means: Law, Simulation Modeling and Analysis, 9.5.3). A
// look over n windows is the comparison of busy_time.h with windows in place of steps, and so has
// both measures of harmlessness: a t-test against how ranks vary from window to window (ranks that
// vary together count once), and the spread of the ranks' means, in which the lasting differences
// between devices of one kind remain however long one looks. Where ranks are uneven for longer than
// a window, the error of the test is widened by what the job's past shows (ErrorFactor).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/measurements/busy_time.h"
#include "diagnosis/measurements/cross_rank_view.h"
#include "diagnosis/measurements/rank_times.h"

namespace eroica {

// How many windows of the past are kept.
inline constexpr size_t kRankTimesKept = 31;

// Windows of a look: a fault that began n windows ago is seen by a look of 0.7 n at least, and by
// none that is mostly older.
inline constexpr std::array<size_t, 9> kLooks = {2, 3, 4, 5, 7, 10, 14, 20, 28};

struct LastingOptions {
  double min_share = 0.01;  // of a step: what a person would still act on
  // Probability that a look of a healthy job shows any rank as late. A month of windows of a
  // minute, each looked at over nine lengths, is 389,000 looks, most of them of the same windows:
  // one false alarm in two years of a job at most.
  double false_alarms_per_look = 1e-7;
  // The first windows of a job may cost more, as they come but once: all looks of its life together
  // by so much, the k-th window's by 6 / (pi k)^2 of it, which add up to 1 (alpha spending: Lan and
  // DeMets, Biometrika 70, 1983).
  double false_alarms_of_job = 1e-3;
  double min_slow_windows = 0.75;  // that show half of it at least
  double min_lasting = 0.5;   // share of it that is left without the window in which it is largest
  double min_separation = 4;  // excess over what peers differ by for good
  bool less = false;          // look for ranks that have less than their peers, not more
};

// What the looks of the window may cost.
double FalseAlarmsAllowed(int64_t window, const LastingOptions& options);

// The newest windows of the past that are of one kind and world with this one and stand before it:
// jobs that change their size number their ranks anew.
std::span<const RankTimes> Uninterrupted(std::span<const RankTimes> past, WindowKind kind,
                                         int64_t index, uint32_t world_size);

// Which window it is, for the rows that follow to be of; none yet.
RankTimes NobodysTimes(const CrossRankView& view);

// What the steps of each rank that reported any were in one window, for the looks of later ones.
// The view adds what the window alone shows of all roles, and what kernels took where ranks have no
// peers.
RankTimes RankTimesOf(const CrossRankView& view);

// The work of ranks on devices in one window, in the same form, of a step of one second of which
// the median rank of a role works half. A rank works longer by as much as its TYPICAL kernel on
// data is longer than its peers': that by which half of the kernels' time is longer, and half is
// not. So what experts compute for the tokens of others, which changes from step to step, hides no
// sequences that are longer for good, and waiting that looks like work adds nothing. No rows where
// kernels are not recorded.
RankTimes WorkTimesOf(const CrossRankView& view);

// Ranks that are late over the newest windows, `now` among them, by rank: of the longest look that
// shows it. `past` as of RankTimesOf, oldest first; only windows of the same kind and world count,
// back to the first that is not. In the answer steps and slow_steps count windows.
std::vector<BusyTime> FindLastingExcess(std::span<const RankView> ranks, uint32_t role_count,
                                        std::span<const RankTimes> past, const RankTimes& now,
                                        const LastingOptions& options = {});

}  // namespace eroica
