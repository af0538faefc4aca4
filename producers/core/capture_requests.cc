#include "producers/core/capture_requests.h"

#include <fmt/format.h>

#include <algorithm>

namespace eroica {

CaptureRequests::Answer CaptureRequests::Tick(int64_t now_ns, const ProducerIdentity& identity,
                                              Emitter& emitter, Transport& transport) {
  if (now_ns - last_read_ns_ < kReadIntervalNs) return Answer::kGoOn;
  last_read_ns_ = now_ns;
  for (const Control& control : transport.ReadControls()) {
    const bool expired = control.expires_at_ns != 0 && control.expires_at_ns <= now_ns;
    if (control.job != identity.job || expired) continue;
    if (control.capture_level == CaptureLevel::kOff) return Answer::kStop;
    if (emitter.AddCapture(control, now_ns)) quiet_until_ns_ = now_ns + kCoolDownNs;
  }
  const Degradation degradation = emitter.TakeDegradation(now_ns);
  if (!asks_ || degradation == Degradation::kNone || now_ns < quiet_until_ns_) return Answer::kGoOn;
  quiet_until_ns_ = now_ns + kCoolDownNs;
  // Nobody hears it where the transport is down; the next cool-down tries again.
  transport.RequestCapture(WindowFor(identity, degradation, emitter, now_ns)).IgnoreError();
  return Answer::kGoOn;
}

Control CaptureRequests::WindowFor(const ProducerIdentity& identity, Degradation degradation,
                                   const Emitter& emitter, int64_t now_ns) {
  constexpr int64_t kHeardByAllNs = 4 * kReadIntervalNs;
  const int64_t step_ns = std::max<int64_t>(emitter.mean_step_ns(), 1);
  const int64_t first = emitter.step() + 1 + kHeardByAllNs / step_ns;
  return {.job = identity.job,
          .capture_level = CaptureLevel::kEvents,
          .first_step = first,
          .last_step = first + std::clamp<int64_t>(kWindowNs / step_ns, 1, kMostSteps) - 1,
          .requester = fmt::format("rank {} ({})", identity.rank.value,
                                   degradation == Degradation::kSlow ? "slow" : "blocked"),
          .expires_at_ns = now_ns + kCoolDownNs};
}

}  // namespace eroica
