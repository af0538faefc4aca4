// Where training steps begin, from the two things that every training loop does: it takes the next
// batch from its data loader (D) and lets its optimizer step (O). After EROICA's state machine
// (NSDI'26, section 3.1; METHODS 1.4): a step is a run of D followed by a run of O.
//
//   learn    ten equal runs (d times D, o times O) one after the other are the template
//   match    a step begins at the first D after an O, and the step before ends there
//   pause    more D than the template has are an evaluation: the step is marked as such until the
//            next O
//   relearn  200 events without a run that matches
//
// Steps are counted from the first event, learning or not, so that all ranks number them the same.
// A loop that has no data loader steps from O to O; so does one whose batches another thread loads,
// even if it has taken some itself (a first look, an evaluation): ten O without a D, more than the
// template has, are such a loop for good. Where the script counts its own steps (Step),
// the detector only watches how long they take.
//
// Besides, it says when the rank has become slow: the mean of the last 50 steps is above 1.05 times
// the median of the means of 50 before, and above it by more than noise has made (three times the
// largest deviation of those means, four standard errors of the steps' own spread). The
// paper's single shortest step would make noise an alarm. And when it stops again and again: no
// event for five mean steps, the second time within a thousand steps. One stop is no reason for a
// capture window, which begins with the next step and cannot see it. Then it keeps quiet for a
// while.
//
// Pure: takes the time as an argument. Owner: one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "schemas/event_batch.h"

namespace eroica {

enum class Degradation : uint8_t { kNone, kSlow, kBlocked };

class StepDetector {
 public:
  static constexpr size_t kLearn = 10;
  static constexpr size_t kRelearn = 200;
  static constexpr size_t kRecent = 50;
  static constexpr double kSlow = 1.05;
  static constexpr double kDeviations = 3;
  static constexpr double kErrors = 4;
  static constexpr double kBlocked = 5;
  static constexpr size_t kLeastMeans = 5;  // before that nobody knows the noise
  static constexpr size_t kLookBack = 20;   // means that are compared with
  // shorter stops are not worth a capture
  static constexpr int64_t kLeastBlockedNs = 2'000'000'000;
  static constexpr int64_t kCoolDownNs = int64_t{600} * 1'000'000'000;

  // first_step: the number of the first one.
  explicit StepDetector(int64_t first_step = 0) : step_(first_step - 1), first_step_(first_step) {}

  // Appends the marks that follow from the event (step begin and end, evaluation begin and end).
  void DataloaderNext(int64_t time_ns, std::vector<Mark>* marks);
  void OptimizerStep(int64_t time_ns, std::vector<Mark>* marks);
  // A thread that does not train has taken a batch from its data loader.
  void LoadedElsewhere() { loaded_elsewhere_ = true; }
  // The thread that trains has taken none; what was seen of batches was another one's.
  void HasNoDataloader();
  // The optimizer's step has ended: where nothing follows, so has the training step. A script may
  // hand forward and backward pass to the optimizer as a closure, which runs within its step.
  void MayEnd(int64_t time_ns) { may_end_ns_ = std::max(may_end_ns_, time_ns); }
  // The script's own count; from here on the events above begin no steps.
  void Step(int64_t time_ns, std::vector<Mark>* marks);
  // Nothing follows any more. The step at hand ends with its last optimizer step: with its end,
  // where that was seen. Where it has none, nobody knows when it ended: it ends where it began, by
  // which readers know it. So it does where steps begin with the optimizer and only its own work is
  // left: the loop ended there.
  void Finish(std::vector<Mark>* marks) const;
  // Around a checkpoint: the steps in it are not measured.
  void SetPaused(bool paused) { paused_ = paused; }

  // What has become of the rank by now. At most one answer other than kNone a cool-down.
  Degradation Check(int64_t now_ns);

  int64_t step() const { return step_; }  // that the rank is in; first_step - 1 before the first
  bool has_begun() const { return step_ >= first_step_; }
  bool learnt() const { return template_.has_value(); }
  int64_t mean_step_ns() const;  // of the last 50; 0 where there are fewer than ten

 private:
  struct Run {
    uint32_t dataloader = 0;
    uint32_t optimizer = 0;
    friend bool operator==(const Run&, const Run&) = default;
  };

  void BeginStep(int64_t time_ns, std::vector<Mark>* marks);
  void EndRun();
  void NoteDuration(std::optional<int64_t> duration_ns);
  bool HasBecomeSlow(int64_t mean_ns) const;
  double StandardError(int64_t mean_ns) const;  // of the mean of the last kRecent steps
  bool StopsAgain(int64_t mean_ns, int64_t now_ns);

  bool explicit_ = false;
  bool has_dataloader_ = false;
  bool loaded_elsewhere_ = false;
  bool from_optimizer_ = false;  // for good
  bool paused_ = false;          // a checkpoint
  bool evaluating_ = false;      // more D than the template has
  bool unmeasured_ = false;      // the step at hand was paused
  int64_t step_;
  const int64_t first_step_;
  int64_t step_begin_ns_ = 0;
  int64_t last_event_ns_ = 0;
  int64_t may_end_ns_ = 0;
  Run run_;
  std::deque<Run> runs_;  // the last kLearn
  std::optional<Run> template_;
  size_t events_since_match_ = 0;
  std::deque<int64_t> durations_;  // of the last kRecent steps
  int64_t duration_sum_ns_ = 0;
  std::deque<int64_t> means_;  // one every kRecent steps
  size_t steps_since_mean_ = 0;
  int64_t stop_began_ns_ = 0;         // of the stop that was seen last
  std::optional<int64_t> stop_step_;  // that it was in
  std::optional<int64_t> last_alarm_ns_;
};

}  // namespace eroica
