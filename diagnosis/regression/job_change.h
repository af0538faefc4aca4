// Whether a job has become slower than it was, from the profiles of its windows (job_profile.h).
// Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "schemas/pattern_batch.h"

namespace eroica {

struct ChangeOptions {
  size_t min_past = 2;        // windows before the change,
  size_t min_past_steps = 6;  // and steps of these: of fewer nobody knows what steps vary by
  double min_share = 0.03;    // of a step
  double min_deviations = 4;  // of the noise of a window's mean
  // share of a step by which windows of healthy jobs of this kind drift (healthy_spread.h); 0: not
  // known, the past alone shows it
  double drift = 0;
  // A change of less than that share, seen over many windows:
  double faint_share = 0.01;
  size_t faint_windows = 3;  // before the change, and since
  // False-alarm rates of a look at a healthy job: that the steps have become longer, and that any
  // function has. Both tests must hold: the first alone says that there is a change, the second
  // that it is this function's. A month of windows of a minute has 43,000 looks, mostly of the same
  // windows.
  double step_p_value = 1e-4;
  double function_p_value = 1e-6;
  size_t fewest_past = 3;   // windows before a change that has begun within a window,
  size_t fewest_steps = 4;  // and steps since
  // share of the steps that may lie apart from the others: checkpoints, evaluations
  double most_apart = 0.25;
};

// The job before and after.
struct JobChange {
  std::span<const PatternBatch> past;
  std::vector<const PatternBatch*> since;  // windows, the newest last
  double past_ns = 0;                      // a step
  double now_ns = 0;
  double least_ns = 0;  // more than past_ns: what would have been a change
  double busy_ns = 0;   // a step, by which what is left without waiting for peers has grown
  bool faint = false;
  const PatternBatch* begun_in = nullptr;  // the window before `since`, where it began
  double begun_share = 0;                  // of its steps, the last ones, show it
  double excess_ns() const { return now_ns - past_ns; }
  // What functions of the ranks themselves have to explain. In a pipeline every stage waits for
  // what all others do longer: the step grows by more than any rank's work.
  double own_excess_ns() const;
};

// The newest window and the one before it, both, against the median of all earlier ones; most of
// their steps must be longer: an evaluation or a collection lengthens one step of a window, and may
// do so in two windows running.
std::optional<JobChange> FindChange(std::span<const PatternBatch> history, const PatternBatch& now,
                                    const ChangeOptions& options);

// The newest window alone, all of its steps, and the last ones of the window before it, none of its
// others: a change that began there. So many steps in a row are no evaluation. Its functions must
// tell the same (HasRisenSince).
std::optional<JobChange> FindChangeBegunBefore(std::span<const PatternBatch> history,
                                               const PatternBatch& now,
                                               const ChangeOptions& options);

// Whether what a function takes has risen in the newest window by four times what it ever varied
// by, and in the window before by as much as the steps of it that show the change take: `past` in
// windows before, oldest first.
bool HasRisenSince(const JobChange& change, std::span<const double> past, double begun_ns,
                   double now_ns);

// P-value of the rise of what a function takes in windows; 1 where any window since lies among
// those before.
double PValueOfRise(std::span<const double> past, std::span<const double> since);

// Some of the newest windows against all earlier ones, step by step: a t-test of the two means, as
// wide as correlated windows make it, and every window since slower than any before. Steps that lie
// apart from the others of their time are left out; where there are many, nothing is said.
std::optional<JobChange> FindFaintChange(std::span<const PatternBatch> history,
                                         const PatternBatch& now, const ChangeOptions& options);

}  // namespace eroica
