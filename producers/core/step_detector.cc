#include "producers/core/step_detector.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "producers/core/event_time.h"

namespace eroica {

void StepDetector::DataloaderNext(int64_t time_ns, std::vector<Mark>* marks) {
  last_event_ns_ = time_ns;
  ++events_since_match_;
  if (explicit_ || from_optimizer_) return;
  has_dataloader_ = true;
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
  MayEnd(time_ns);
  ++events_since_match_;
  if (explicit_) return;
  const size_t usual = template_ ? template_->optimizer : 0;
  if (loaded_elsewhere_ && run_.optimizer >= std::max(kLearn, usual + 1)) HasNoDataloader();
  // The batches of another thread may have begun the first step.
  if (!has_begun() || (!has_dataloader_ && run_.optimizer > 0)) {
    EndRun();
    BeginStep(time_ns, marks);
  }
  ++run_.optimizer;
}

void StepDetector::HasNoDataloader() {
  has_dataloader_ = false;
  if (loaded_elsewhere_) from_optimizer_ = true;
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
    if (!unmeasured_ && !paused_) NoteDuration(EventDurationNs(step_begin_ns_, time_ns));
  }
  evaluating_ = false;
  unmeasured_ = paused_;
  ++step_;
  step_begin_ns_ = time_ns;
  marks->push_back({time_ns, MarkKind::kStepBegin, step_});
}

void StepDetector::Finish(std::vector<Mark>* marks) const {
  if (!has_begun()) return;
  const int64_t end_ns = std::max(may_end_ns_, step_begin_ns_);
  const bool from_optimizer = !explicit_ && !has_dataloader_ && !durations_.empty();
  // Unless the optimizer runs forward and backward pass, as a closure.
  const bool is_rest =
      from_optimizer && 2 * (end_ns - step_begin_ns_) < duration_sum_ns_ / std::ssize(durations_);
  marks->push_back({is_rest ? step_begin_ns_ : end_ns, MarkKind::kStepEnd, step_});
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

void StepDetector::NoteDuration(std::optional<int64_t> duration_ns) {
  if (!duration_ns) return;  // a broken stamp
  durations_.push_back(*duration_ns);
  duration_sum_ns_ += *duration_ns;
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

double StepDetector::StandardError(int64_t mean_ns) const {
  double squares = 0;
  for (const int64_t duration_ns : durations_) {
    const auto off = static_cast<double>(duration_ns - mean_ns);
    squares += off * off;
  }
  return std::sqrt(squares) / static_cast<double>(durations_.size());
}

bool StepDetector::HasBecomeSlow(int64_t mean_ns) const {
  if (durations_.size() < kRecent || means_.size() <= kLeastMeans) return false;
  // The newest mean is partly of the steps that are asked about.
  std::vector<int64_t> means(means_.begin(), means_.end() - 1);
  const auto middle = means.begin() + static_cast<std::ptrdiff_t>(means.size() / 2);
  std::nth_element(means.begin(), middle, means.end());
  const int64_t typical_ns = *middle;
  int64_t deviation_ns = 0;
  for (const int64_t mean : means)
    deviation_ns = std::max(deviation_ns, std::abs(mean - typical_ns));
  const auto excess_ns = static_cast<double>(mean_ns - typical_ns);
  return excess_ns > (kSlow - 1) * static_cast<double>(typical_ns) &&
         excess_ns > kDeviations * static_cast<double>(deviation_ns) &&
         excess_ns > kErrors * StandardError(mean_ns);
}

bool StepDetector::StopsAgain(int64_t mean_ns, int64_t now_ns) {
  const int64_t silent_ns = EventDurationNs(last_event_ns_, now_ns).value_or(0);
  const bool stops = static_cast<double>(silent_ns) > kBlocked * static_cast<double>(mean_ns) &&
                     silent_ns > kLeastBlockedNs;
  if (!stops || stop_began_ns_ == last_event_ns_) return false;
  constexpr auto kSteps = static_cast<int64_t>(kRecent * kLookBack);
  const bool again = stop_step_ && step_ - *stop_step_ <= kSteps;
  stop_began_ns_ = last_event_ns_;
  stop_step_ = step_;
  return again;
}

Degradation StepDetector::Check(int64_t now_ns) {
  const int64_t mean_ns = mean_step_ns();
  if (mean_ns == 0 || paused_ || evaluating_) return Degradation::kNone;
  const bool stops_again = StopsAgain(mean_ns, now_ns);
  if (last_alarm_ns_ && now_ns - *last_alarm_ns_ < kCoolDownNs) return Degradation::kNone;
  const Degradation found = stops_again              ? Degradation::kBlocked
                            : HasBecomeSlow(mean_ns) ? Degradation::kSlow
                                                     : Degradation::kNone;
  if (found != Degradation::kNone) last_alarm_ns_ = now_ns;
  return found;
}

}  // namespace eroica
