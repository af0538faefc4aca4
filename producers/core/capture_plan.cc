#include "producers/core/capture_plan.h"

#include <algorithm>

#include "producers/core/event_time.h"

namespace eroica {

bool CapturePlan::Add(const Control& control, int64_t now_ns) {
  if (control.last_step < control.first_step || control.last_step <= step_) return false;
  if (control.expires_at_ns != 0 && control.expires_at_ns <= now_ns) return false;
  const bool known = std::any_of(windows_.begin(), windows_.end(), [&](const Window& window) {
    return window.control.first_step == control.first_step &&
           window.control.requester == control.requester;
  });
  if (known || windows_.size() >= kMostWindows) return false;
  windows_.push_back({.control = control});
  Control& taken = windows_.back().control;
  taken.last_step = std::min(taken.last_step, taken.first_step + kLongestWindow - 1);
  return true;
}

void CapturePlan::StepBegan(int64_t step, int64_t time_ns) {
  step_ = step;
  if (!IsEventTime(time_ns)) return;  // the next step begins or ends the window
  for (Window& window : windows_) {
    const Control& wanted = window.control;
    // A request that came late begins with the next step.
    if (window.begin_ns == 0 && step >= wanted.first_step && step <= wanted.last_step)
      window.begin_ns = time_ns;
    if (window.end_ns == 0 && step > wanted.last_step) window.end_ns = time_ns;
  }
}

CaptureLevel CapturePlan::Gate(int64_t steps_ahead, int64_t now_ns) {
  // What has ended stays for as long as events of it may still come.
  constexpr int64_t kLatestEventNs = 60'000'000'000;
  std::erase_if(windows_, [&](const Window& window) {
    const bool expired = window.begin_ns == 0 && window.control.expires_at_ns != 0 &&
                         window.control.expires_at_ns <= now_ns;
    return expired || (window.end_ns != 0 && window.end_ns + kLatestEventNs < now_ns);
  });
  CaptureLevel level = base_;
  open_or_near_ = false;
  for (const Window& window : windows_) {
    const Control& wanted = window.control;
    if (window.end_ns != 0 || step_ + steps_ahead < wanted.first_step || step_ > wanted.last_step)
      continue;
    level = std::max(level, wanted.capture_level);
    open_or_near_ = open_or_near_ || wanted.capture_level == CaptureLevel::kEvents;
  }
  return level;
}

bool CapturePlan::Keeps(int64_t start_ns) const {
  if (base_ != CaptureLevel::kCollectives) return true;
  return std::any_of(windows_.begin(), windows_.end(), [&](const Window& window) {
    return window.control.capture_level > CaptureLevel::kCollectives && window.begin_ns != 0 &&
           start_ns >= window.begin_ns && (window.end_ns == 0 || start_ns < window.end_ns);
  });
}

}  // namespace eroica
