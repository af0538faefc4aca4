#include "producers/core/step_detector.h"

#include <algorithm>

namespace eroica {

void StepDetector::DataloaderNext(int64_t time_ns, std::vector<Mark>* marks) {
  last_event_ns_ = time_ns;
  ++events_since_match_;
  has_dataloader_ = true;
  if (explicit_) return;
  if (run_.optimizer > 0 || !has_begun()) {
    EndRun();
    BeginStep(time_ns, marks);
  }
  ++run_.dataloader;
  if (template_ && !evaluating_ && run_.dataloader > template_->dataloader &&
      template_->dataloader > 0) {
    evaluating_ = true;
    unmeasured_ = true;
    marks->push_back({time_ns, MarkKind::kEvaluationBegin, step_});
  }
}

void StepDetector::OptimizerStep(int64_t time_ns, std::vector<Mark>* marks) {
  last_event_ns_ = time_ns;
  last_optimizer_ns_ = time_ns;
  ++events_since_match_;
  if (explicit_) return;
  if (!has_dataloader_) {
    EndRun();
    BeginStep(time_ns, marks);
  }
  ++run_.optimizer;
}

void StepDetector::Step(int64_t time_ns, std::vector<Mark>* marks) {
  last_event_ns_ = time_ns;
  explicit_ = true;
  BeginStep(time_ns, marks);
}

void StepDetector::BeginStep(int64_t time_ns, std::vector<Mark>* marks) {
  if (has_begun()) {
    if (evaluating_) marks->push_back({time_ns, MarkKind::kEvaluationEnd, step_});
    marks->push_back({time_ns, MarkKind::kStepEnd, step_});
    if (!unmeasured_ && !paused_) NoteDuration(time_ns - step_begin_ns_);
  }
  evaluating_ = false;
  unmeasured_ = paused_;
  ++step_;
  step_begin_ns_ = time_ns;
  marks->push_back({time_ns, MarkKind::kStepBegin, step_});
}

void StepDetector::Finish(std::vector<Mark>* marks) const {
  if (has_begun())
    marks->push_back({std::max(last_optimizer_ns_, step_begin_ns_), MarkKind::kStepEnd, step_});
}

// The run before the event at hand is whole.
void StepDetector::EndRun() {
  if (run_.optimizer == 0) return;
  runs_.push_back(run_);
  if (runs_.size() > kLearn) runs_.pop_front();
  if (template_ && run_ == *template_) events_since_match_ = 0;
  if (template_ && events_since_match_ > kRelearn) template_.reset();
  const bool equal =
      std::all_of(runs_.begin(), runs_.end(), [&](const Run& run) { return run == runs_.front(); });
  if (!template_ && runs_.size() == kLearn && equal) {
    template_ = runs_.front();
    events_since_match_ = 0;
  }
  run_ = {};
}

void StepDetector::NoteDuration(int64_t duration_ns) {
  durations_.push_back(duration_ns);
  duration_sum_ns_ += duration_ns;
  if (durations_.size() > kRecent) {
    duration_sum_ns_ -= durations_.front();
    durations_.pop_front();
  }
  if (++steps_since_mean_ < kRecent || durations_.size() < kRecent) return;
  steps_since_mean_ = 0;
  means_.push_back(duration_sum_ns_ / static_cast<int64_t>(kRecent));
  if (means_.size() > kLookBack) means_.pop_front();
}

int64_t StepDetector::mean_step_ns() const {
  return durations_.size() < kLearn ? 0
                                    : duration_sum_ns_ / static_cast<int64_t>(durations_.size());
}

Degradation StepDetector::Check(int64_t now_ns) {
  if (last_alarm_ns_ && now_ns - *last_alarm_ns_ < kCoolDownNs) return Degradation::kNone;
  const int64_t mean_ns = mean_step_ns();
  if (mean_ns == 0 || paused_ || evaluating_) return Degradation::kNone;
  Degradation found = Degradation::kNone;
  const double silent_ns = static_cast<double>(now_ns - last_event_ns_);
  if (silent_ns > kBlocked * static_cast<double>(mean_ns) &&
      now_ns - last_event_ns_ > kLeastBlockedNs) {
    found = Degradation::kBlocked;
  } else if (durations_.size() == kRecent && !means_.empty()) {
    const int64_t shortest_ns = *std::min_element(means_.begin(), means_.end());
    if (static_cast<double>(mean_ns) > kSlow * static_cast<double>(shortest_ns))
      found = Degradation::kSlow;
  }
  if (found != Degradation::kNone) last_alarm_ns_ = now_ns;
  return found;
}

}  // namespace eroica
