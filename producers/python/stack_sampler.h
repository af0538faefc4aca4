// Samples the stack of the training (main) thread, up to 50 times a second (SamplingPace), without
// stopping it, without the GIL and without a signal: a thread of ours reads the frames from memory
// (FrameReader), also while the main thread is inside a call into C.
//
// Once a second, and where a capture window wants every call, it asks the main thread for a visit
// by a pending call, which the interpreter runs by itself where it next looks up: to install the
// full trace and to read sys.path. Where frames cannot be read from memory (CPython 3.14, a process
// that may not), each sample is such a visit, on which the main thread copies its own stack in a
// few microseconds; up to CPython 3.12 a main thread that never gives the GIL away is not seen then
// (CPython issue 95820).
//
//   idle --(tick: request)--> requested --(pending call on the main thread)--> filled --(tick:
//   taken)--> idle
//
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
#include <vector>

#include "producers/python/cpython_api.h"
#include "producers/python/frame_reader.h"
#include "producers/python/full_trace.h"
#include "producers/python/garbage_collections.h"
#include "producers/python/gil_holder.h"
#include "producers/python/gil_probe.h"
#include "producers/python/gil_waits.h"
#include "producers/python/run_times.h"
#include "producers/python/sampling_pace.h"
#include "producers/python/stack_attribution.h"
#include "producers/python/stack_functions.h"
#include "producers/python/stack_walker.h"

namespace eroica {

struct StackSamplerOptions {
  double hz = 50;                // at most
  std::string own_folder;        // frames of files below it are left out
  int resume_opcode = -1;        // of the running CPython; -1 before 3.11
  PyPointer describe = nullptr;  // see GilHolder
};

struct StackSamplerStatistics {
  uint64_t samples;    // stacks read
  uint64_t unread;     // ticks at which no stack could be read: it changed too fast
  uint64_t visits;     // of the main thread
  uint64_t visit_ns;   // that it spent on them
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
  enum class Source : uint8_t { kUnknown, kMemory, kVisits };

  static void* Run(void* self);
  static int OnPendingCall(void* self);
  void Loop();
  void Tick(int64_t now_ns);
  void TakeVisit();
  void ReadMemory(int64_t now_ns);
  bool IsVisitDue(int64_t now_ns) const;
  void RequestVisit(int64_t now_ns);
  void Sample(int64_t requested_ns, int64_t taken_ns, int64_t boundary_ns);
  void WatchGil(int64_t now_ns);
  void Visit();           // on the main thread, with the GIL
  void DecideOnSource();  // likewise
  bool CanTakeGil() const;
  // False where the sampler shall stop.
  bool WaitUntil(int64_t monotonic_ns);

  const CPythonApi& python_;
  StackWalker walker_;              // the main thread's
  FullTrace full_trace_;            // the main thread's
  GarbageCollections collections_;  // the main thread's
  FrameReader reader_;              // the main thread's until there is a source
  std::atomic<Source> source_ = Source::kUnknown;
  // The main thread's while requested, the sampler's while filled.
  PythonStack visited_;
  int64_t taken_ns_ = 0;
  int64_t boundary_ns_ = 0;  // the latest that the main thread had passed
  std::vector<std::string> visited_path_;
  std::atomic<Request> request_ = Request::kIdle;

  // The sampler thread's.
  SamplingPace pace_;
  StackFunctions functions_;
  StackAttribution attribution_;
  GilProbe probe_;
  RunTimesFile times_;  // of the main thread
  GilHolder holder_;
  GilWaits waits_;
  PythonStack stack_;
  std::vector<std::string> search_path_;  // sys.path
  int64_t requested_ns_ = 0;
  int64_t last_tick_ns_ = 0;
  uint8_t lane_ = 0;

  pthread_t thread_{};
  pthread_mutex_t mutex_;
  pthread_cond_t stop_changed_;
  bool stop_ = false;  // under mutex_
  std::atomic<bool> running_ = false;
  std::atomic<bool> abandoned_ = false;
  std::atomic<uint64_t> samples_ = 0, unread_ = 0, visits_ = 0, visit_ns_ = 0;
  std::atomic<uint64_t> ticks_ = 0, gil_waits_ = 0;
};

}  // namespace eroica
