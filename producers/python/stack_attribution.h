// From samples of the training thread's stack to intervals that cover its time without holes.
//
// A sample is requested at r and taken at e, at the first moment at which the interpreter looks up
// from its work. So the stack at e was on all of [r, e]: one long call into C that has just ended,
// or a wait for the GIL. What lies between the sample before, taken at p, and r belongs to both:
// half to each where they differ, or, where the thread has passed a moment that is known exactly
// since p (the boundary: a step or a collective began or ended), up to that to the one and from it
// on to the other. Consecutive equal leaves are one interval, cut where it grows
// long, so that windows can close behind it. Owner: one thread. Times do not decrease from call to
// call; one that does is taken for the latest time seen.
#pragma once

#include <cstdint>
#include <functional>

namespace eroica {

class StackAttribution {
 public:
  using Emit = std::function<void(int64_t start_ns, int64_t end_ns, uint32_t function)>;
  explicit StackAttribution(Emit emit) : emit_(std::move(emit)) {}

  static constexpr int64_t kNoBoundary = INT64_MIN;

  // leaf: the function at the end of the stack's chain. boundary_ns: the latest one.
  void Sample(int64_t requested_ns, int64_t taken_ns, uint32_t leaf,
              int64_t boundary_ns = kNoBoundary);
  // The thread is inside something that needs no samples since boundary_ns: a collective that it
  // waits for. What is open goes on behind it: from the boundary on that the next sample, or the
  // next interruption, says. May be said again and again.
  void Interrupt(int64_t boundary_ns);
  // Emits what is open, and forgets the sample before: what follows begins anew.
  void Finish();

 private:
  void EmitOpen(int64_t end_ns);

  Emit emit_;
  bool open_ = false;
  bool interrupted_ = false;
  int64_t start_ns_ = 0;  // of the open interval
  int64_t taken_ns_ = 0;  // of the last sample: the open interval's end
  uint32_t leaf_ = 0;
};

}  // namespace eroica
