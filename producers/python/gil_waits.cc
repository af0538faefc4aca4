#include "producers/python/gil_waits.h"

#include <string_view>

#include "producers/core/producer_core.h"
#include "producers/core/spread_share.h"

namespace eroica {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kSpanNs = 500'000'000;
constexpr int kOneWaitIn = 20;  // ticks: from here on the GIL is contended

// What of a holder's description stays the same, whatever the thread runs at the moment.
std::string_view ThreadOf(std::string_view holder) { return holder.substr(0, holder.find(" in ")); }

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
  if (waiting && !waiting_) since_ns_ = last_ns;
  if (span_ns_ == 0) span_ns_ = last_ns;
  if (waiting) waited_ns_ += now_ns - last_ns;
  waiting_ = waiting;
  last_ns_ = now_ns;
  if (now_ns - span_ns_ >= kSpanNs) EmitSpan();
  ++ticks_;
  if (waiting) ++waits_;
  if (second_ns_ == 0) second_ns_ = now_ns;
  if (now_ns - second_ns_ >= kSecondNs) EndSecond(now_ns);
}

void GilWaits::Finish() {
  EmitSpan();
  waiting_ = false;
}

void GilWaits::EmitSpan() {
  if (waited_ns_ > 0) {
    const double share = static_cast<double>(waited_ns_) / static_cast<double>(last_ns_ - span_ns_);
    SpreadShare(span_ns_, last_ns_, share, CellSide::kEnd,
                [this](int64_t begin_ns, int64_t end_ns) { emit_(begin_ns, end_ns, function()); });
  }
  span_ns_ = waited_ns_ = 0;
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
  // One name while one thread holds it: a wait under many names is small under each.
  if (!holder.empty() && ThreadOf(holder) != ThreadOf(known_holder_)) {
    known_holder_ = holder;
    function_ = EROICA_NO_PARENT;
  }
  second_ns_ = now_ns;
  ticks_ = waits_ = 0;
}

}  // namespace eroica
