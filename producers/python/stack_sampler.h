// Samples the stack of the training (main) thread, up to 50 times a second (SamplingPace), without taking the GIL and
// without a signal: a thread of ours asks through a pending call, which the main thread runs by
// itself where its interpreter next looks up. There it copies its stack in a few microseconds;
// names, attribution and events are the sampler thread's work.
//
//   idle --(tick: request)--> requested --(pending call on the main thread)--> filled --(tick:
//   taken)--> idle
//
// Up to CPython 3.12 a main thread that never gives the GIL away does not look up (CPython issue
// 95820): where a request still stands at the next tick, and the thread has used a processor for
// some milliseconds since, the sampler takes the GIL for an instant, which makes it look up. A thread
// that was not let run has had no occasion, and taking the GIL from it would make it wait longer.
// At every tick the sampler also sees whether the main thread waits for the GIL (GilProbe), and if
// that is often, who holds it (GilHolder).
//
// Owner: whoever starts it, once a process; it is never destroyed, because a pending call may
// outlive it. Stop joins the thread and must be called without the GIL; after Abandon (a fork's
// child) nothing is sampled.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "producers/python/cpython_api.h"
#include "producers/python/full_trace.h"
#include "producers/python/garbage_collections.h"
#include "producers/python/gil_holder.h"
#include "producers/python/gil_probe.h"
#include "producers/python/gil_waits.h"
#include "producers/python/sampling_pace.h"
#include "producers/python/stack_attribution.h"
#include "producers/python/stack_functions.h"
#include "producers/python/stack_walker.h"

namespace eroica {

struct StackSamplerOptions {
  double hz = 50;  // at most
  std::string own_folder;        // frames of files below it are left out
  int resume_opcode = -1;        // of the running CPython; -1 before 3.11
  PyPointer describe = nullptr;  // see GilHolder
};

struct StackSamplerStatistics {
  uint64_t samples;    // stacks read
  uint64_t walk_ns;    // that the training thread spent on them
  uint64_t nudges;     // times that the GIL was taken to make the main thread look up
  uint64_t ticks;      // of the sampler's thread
  uint64_t gil_waits;  // ticks at which the main thread waited for the GIL
};

class StackSampler {
 public:
  StackSampler(const CPythonApi& python, const StackSamplerOptions& options);

  // False, and why, where no thread can be started.
  bool Start(const char** why);
  void Stop();
  void Abandon();
  FullTrace& full_trace() { return full_trace_; }
  GarbageCollections& collections() { return collections_; }
  StackSamplerStatistics Read() const;

 private:
  enum class Request : uint8_t { kIdle, kRequested, kFilled };

  static void* Run(void* self);
  static int OnPendingCall(void* self);
  void Loop();
  // used_ns: of a processor, by the main thread since the tick before.
  void Tick(int64_t now_ns, int64_t used_ns);
  void TakeSample();
  void RequestSample();
  void NudgeIfDeaf(int64_t now_ns);
  void WatchGil(int64_t now_ns);
  void ReadStack();  // on the main thread, with the GIL
  bool CanTakeGil() const;
  // False where the sampler shall stop.
  bool WaitUntil(int64_t monotonic_ns);

  const CPythonApi& python_;
  StackWalker walker_;    // the main thread's
  FullTrace full_trace_;  // the main thread's
  GarbageCollections collections_;  // the main thread's
  PythonStack stack_;     // the main thread's while requested, the sampler's while filled
  int64_t taken_ns_ = 0;     // likewise
  int64_t boundary_ns_ = 0;  // likewise: the latest that the main thread had passed
  std::atomic<Request> request_ = Request::kIdle;

  // The sampler thread's.
  SamplingPace pace_;
  StackFunctions functions_;
  StackAttribution attribution_;
  GilProbe probe_;
  GilHolder holder_;
  GilWaits waits_;
  int64_t requested_ns_ = 0;
  int64_t training_cpu_ns_ = 0;  // that the main thread had used at the last tick
  int64_t last_tick_ns_ = 0;
  int64_t next_nudge_ns_ = 0;
  uint8_t lane_ = 0;

  pthread_t thread_{};
  pthread_mutex_t mutex_;
  pthread_cond_t stop_changed_;
  bool stop_ = false;  // under mutex_
  std::atomic<bool> running_ = false;
  std::atomic<bool> abandoned_ = false;
  std::atomic<uint64_t> samples_ = 0, walk_ns_ = 0, nudges_ = 0, ticks_ = 0, gil_waits_ = 0;
};

}  // namespace eroica
