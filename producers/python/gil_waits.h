// The training thread's waits for the GIL as functions and intervals. How long it was blocked the
// kernel has counted: what it neither ran nor waited for a processor. How much of that was the
// GIL's is seen at the sampler's ticks: the share of those that found it blocked, of this half
// second and, as these are few, of those before it. Where the kernel does not count, a tick at
// which it waits stands for the time since the tick before, which is as rough as ticks are few. A
// wait is mostly shorter than a tick, so that it is known how much of half a second was waited and
// not when: that is spread over it (spread_share.h), at the ends of cells, as waits for a processor
// have the beginnings (producers/host). Where more than a twentieth of a second's ticks waited, who
// holds the GIL is asked for, once a second, and named in the function until another thread does.
// Owner: the sampler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "producers/python/gil_probe.h"
#include "producers/python/stack_attribution.h"

namespace eroica {

class GilWaits {
 public:
  // What is asked when many ticks wait: first Count (a second begins), then, a second later, who it
  // is.
  struct Holder {
    std::function<void()> count;
    std::function<std::string()> find;  // "" where not known
  };
  // What the thread has run and waited for a processor so far; nothing where that is not known.
  using ActiveNs = std::function<std::optional<int64_t>()>;
  GilWaits(StackAttribution::Emit emit, Holder holder, ActiveNs active)
      : emit_(std::move(emit)), holder_(std::move(holder)), active_(std::move(active)) {}

  // state: at now_ns; the tick before was at last_ns.
  void Tick(int64_t last_ns, int64_t now_ns, ThreadState state);
  // Emits what is open.
  void Finish();
  // "(waiting for the GIL)", with the holder where it is known.
  uint32_t function();
  // For how long it has been seen waiting at every tick.
  int64_t waiting_ns() const { return waiting_ ? last_ns_ - since_ns_ : 0; }

 private:
  void BeginSpan(int64_t begin_ns);
  double WaitedShareOfSpan();
  void EmitSpan();
  void EndSecond(int64_t now_ns);

  StackAttribution::Emit emit_;
  Holder holder_;
  ActiveNs active_;
  bool waiting_ = false;
  int64_t since_ns_ = 0;                   // of the wait
  int64_t span_ns_ = 0;                    // begin of what is not emitted yet, 0 where nothing is
  int64_t waited_ns_ = 0;                  // of that, by ticks
  std::optional<int64_t> span_active_ns_;  // at its begin
  int blocked_ticks_ = 0;                  // of the span
  int waiting_ticks_ = 0;                  // of these, those that saw the GIL waited for
  double waiting_share_ = 0;               // of blocked ticks, of late
  int64_t last_ns_ = 0;
  int64_t second_ns_ = 0;  // in which ticks are counted: its begin
  int ticks_ = 0;
  int waits_ = 0;
  bool counting_ = false;  // holder_.count was called a second ago
  std::string known_holder_;
  uint32_t function_ = UINT32_MAX;  // EROICA_NO_PARENT: to be asked for
};

}  // namespace eroica
