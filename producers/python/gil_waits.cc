#include "producers/python/gil_waits.h"

#include "producers/core/producer_core.h"

namespace eroica {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kLongestPieceNs = 100'000'000;
constexpr int kOneWaitIn = 20;  // ticks: from here on the GIL is contended

}  // namespace

uint32_t GilWaits::function() {
  if (function_ == EROICA_NO_PARENT) {
    const std::string holder = known_holder_.empty() ? "" : ", held by " + known_holder_;
    const std::string name = "(waiting for the GIL" + holder + ")";
    function_ = eroica_function(name.c_str(), EROICA_PYTHON, EROICA_WAIT_OTHER, EROICA_NO_PARENT);
  }
  return function_;
}

void GilWaits::Tick(int64_t last_ns, int64_t now_ns, bool waiting) {
  if (waiting && !waiting_) since_ns_ = emitted_ns_ = last_ns;
  if (!waiting) Finish();
  waiting_ = waiting;
  last_ns_ = now_ns;
  if (waiting && now_ns - emitted_ns_ >= kLongestPieceNs) {
    emit_(emitted_ns_, now_ns, function());
    emitted_ns_ = now_ns;
  }
  ++ticks_;
  if (waiting) ++waits_;
  if (second_ns_ == 0) second_ns_ = now_ns;
  if (now_ns - second_ns_ >= kSecondNs) EndSecond(now_ns);
}

void GilWaits::Finish() {
  if (waiting_ && emitted_ns_ < last_ns_) emit_(emitted_ns_, last_ns_, function());
  waiting_ = false;
}

void GilWaits::EndSecond(int64_t now_ns) {
  const bool contended = waits_ * kOneWaitIn > ticks_;
  std::string holder;
  if (contended && counting_) {
    holder = holder_.find();
  } else if (contended) {
    holder_.count();
  }
  counting_ = contended;
  if (holder != known_holder_) {
    known_holder_ = holder;
    function_ = EROICA_NO_PARENT;
  }
  second_ns_ = now_ns;
  ticks_ = waits_ = 0;
}

}  // namespace eroica
