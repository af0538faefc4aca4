// What a sweep looks at: the intervals of one rank in one window, and what it must know of their
// functions and lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "schemas/event_batch.h"
#include "schemas/function.h"
#include "schemas/ids.h"

namespace eroica {

// Latest moment that the pattern core computes with: sums of two times stay inside int64_t. Times
// before 0 do not exist here.
inline constexpr int64_t kEndOfTimeNs = int64_t{1} << 62;

// With no longer window and no more lanes, the critical time of a function stays below
// kEndOfTimeNs. (13 days)
inline constexpr int64_t kLongestWindowNs = int64_t{1} << 50;
inline constexpr size_t kMostLanes = 4096;

// A collective that nobody asks about.
inline constexpr uint32_t kNoTicket = std::numeric_limits<uint32_t>::max();
// Of a ticket: the operation is under way beside what the rank runs (LaneKind::kAsynchronous).
inline constexpr uint32_t kAsynchronousTicket = 1u << 30;
constexpr bool IsAsynchronous(uint32_t ticket) {
  return ticket != kNoTicket && (ticket & kAsynchronousTicket) != 0;
}

// [start, end), 0 <= start <= end <= kEndOfTimeNs. 24 bytes: memory is what a sweep waits for.
struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t function = 0;  // index into SweepInput::functions
  // index into SweepInput::lanes. The lane of a collective plays no part: it has the caller's
  // ticket here, or kNoTicket
  uint32_t lane = 0;

  int64_t duration_ns() const { return end_ns - start_ns; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// One row a function of the job.
struct FunctionTraits {
  FunctionId id;
  FunctionClass function_class = FunctionClass::kCpuOp;
  WaitKind wait = WaitKind::kNone;
  // what mu and sigma speak of, where the rank has samples of it ...
  Resource resource = Resource::kNone;
  Resource second_resource = Resource::kNone;  // ... else of this one
  uint32_t depth = 0;                          // callers above it
};

// A training step's [begin, end).
struct StepSpan {
  int64_t id = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

}  // namespace eroica
