// The time of a replay: the arrival of the record that is fed at the moment. The stages ask it for
// the wall clock, so that what they make of the time is what they made of it live. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "schemas/outside_time.h"

namespace eroica {

class ReplayClock {
 public:
  int64_t now_ms() const { return now_ms_; }
  int64_t now_ns() const { return BoundedNsOfMs(now_ms_); }
  // It never goes back.
  void AdvanceTo(int64_t time_ms) { now_ms_ = std::max(now_ms_, time_ms); }

 private:
  int64_t now_ms_ = 0;
};

}  // namespace eroica
