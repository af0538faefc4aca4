// Between what is asked of the job and what the emitter does: takes in requests for this job, stops
// the core when it is switched off, and asks for a capture window of all ranks when this one has
// become slow or stops again and again (StepDetector). Of all ranks together at most one request a
// cool-down: whoever has seen one is quiet.
// Owner: the emitter's thread.
#pragma once

#include <cstdint>

#include "producers/core/emitter.h"
#include "producers/core/transport.h"
#include "schemas/control.h"

namespace eroica {

class CaptureRequests {
 public:
  static constexpr int64_t kReadIntervalNs = 1'000'000'000;
  static constexpr int64_t kCoolDownNs = int64_t{600} * 1'000'000'000;
  static constexpr int64_t kWindowNs = int64_t{20} * 1'000'000'000;  // EROICA: 20 s are captured
  static constexpr int64_t kMostSteps = 100;

  enum class Answer : uint8_t { kGoOn, kStop };

  // asks: whether this rank may ask by itself.
  explicit CaptureRequests(bool asks = true) : asks_(asks) {}

  // Does something once a second. Transport and emitter outlive the call only.
  Answer Tick(int64_t now_ns, const ProducerIdentity& identity, Emitter& emitter,
              Transport& transport);

 private:
  // Nothing where the rank is as it was.
  static Control WindowFor(const ProducerIdentity& identity, Degradation degradation,
                           const Emitter& emitter, int64_t now_ns);

  const bool asks_;
  int64_t last_read_ns_ = 0;
  int64_t quiet_until_ns_ = 0;
};

}  // namespace eroica
