#include "producers/python/gil_waits.h"

#include <algorithm>
#include <string_view>

#include "producers/core/producer_core.h"
#include "producers/core/spread_share.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

constexpr int64_t kSpanNs = 500'000'000;
// For how many blocked ticks of a span what was seen before it stands.
constexpr double kTicksBefore = 2;
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

void GilWaits::Tick(int64_t last_ns, int64_t now_ns, ThreadState state) {
  const bool waiting = state == ThreadState::kWaitingForGil;
  if (waiting && !waiting_) since_ns_ = last_ns;
  if (span_ns_ == 0) BeginSpan(last_ns);
  if (waiting) waited_ns_ += now_ns - last_ns;
  if (waiting || state == ThreadState::kInSystemCall) ++blocked_ticks_;
  if (waiting) ++waiting_ticks_;
  waiting_ = waiting;
  last_ns_ = now_ns;
  if (now_ns - span_ns_ >= kSpanNs) EmitSpan();
  ++ticks_;
  if (waiting) ++waits_;
  if (second_ns_ == 0) second_ns_ = now_ns;
  if (now_ns - second_ns_ >= kNsPerSecond) EndSecond(now_ns);
}

void GilWaits::Finish() {
  EmitSpan();
  waiting_ = false;
}

void GilWaits::BeginSpan(int64_t begin_ns) {
  span_ns_ = begin_ns;
  span_active_ns_ = active_();
}

double GilWaits::WaitedShareOfSpan() {
  const auto length_ns = static_cast<double>(last_ns_ - span_ns_);
  const std::optional<int64_t> active_ns = span_active_ns_ ? active_() : std::nullopt;
  waiting_share_ =
      (waiting_ticks_ + kTicksBefore * waiting_share_) / (blocked_ticks_ + kTicksBefore);
  if (!active_ns) return static_cast<double>(waited_ns_) / length_ns;
  const auto ran_ns = static_cast<double>(*active_ns - *span_active_ns_);
  return waiting_share_ * std::clamp(1 - ran_ns / length_ns, 0.0, 1.0);
}

void GilWaits::EmitSpan() {
  if (span_ns_ != 0 && last_ns_ > span_ns_) {
    SpreadShare(span_ns_, last_ns_, WaitedShareOfSpan(), CellSide::kEnd,
                [this](int64_t begin_ns, int64_t end_ns) { emit_(begin_ns, end_ns, function()); });
  }
  span_ns_ = waited_ns_ = 0;
  blocked_ticks_ = waiting_ticks_ = 0;
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
