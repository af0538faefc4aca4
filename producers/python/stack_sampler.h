// Samples the stack of the training thread (the core's: eroica_trainer), up to 50 times a second
// (SamplingPace), without stopping it, without the GIL and without a signal: a thread of ours reads
// the frames from memory (FrameReader), also while the training thread is inside a call into C.
//
// Once a second, and where a capture window wants every call, it asks the training thread for a
// visit: to install the full trace and to read sys.path. The main thread makes it in a pending
// call, which the interpreter runs by itself where it next looks up. Pending calls run on no other
// thread: another one makes it in the next call by which it says that it trains (OnTrainingCall),
// and says there, too, where its frames are found.
//
// Where frames cannot be read from memory (a process that may not), each sample is a
// visit of the main thread, on which it copies its own stack in a few microseconds; up to CPython
// 3.12 a main thread that never gives the GIL away is not seen then (CPython issue 95820). Where
// another thread trains, there are no stacks then, which is said once on standard error.
//
//   idle --(tick: request)--> requested --(visit by the training thread)--> visiting --(its
//   end)--> filled --(tick: taken)--> idle
//
// When another thread trains than at the tick before, what is open ends, and a request that nobody
// has met is taken back. At every tick the sampler also sees whether the training thread waits for
// the GIL, and if that is often, who holds it (GilHolder); or that the thread has ended, which it
// tells the core.
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
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "producers/core/producer_core.h"
#include "producers/python/cpython_api.h"
#include "producers/python/frame_reader.h"
#include "producers/python/full_trace.h"
#include "producers/python/garbage_collections.h"
#include "producers/python/gil_holder.h"
#include "producers/python/gil_waits.h"
#include "producers/python/one_at_a_time.h"
#include "producers/python/python_thread.h"
#include "producers/python/sampling_pace.h"
#include "producers/python/stack_attribution.h"
#include "producers/python/stack_functions.h"
#include "producers/python/stack_walker.h"
#include "producers/python/thread_account.h"
#include "producers/python/thread_switches.h"
#include "producers/python/training_boundaries.h"
#include "producers/python/worker_stacks.h"

namespace eroica {

struct StackSamplerOptions {
  double hz = 50;                // at most
  std::string own_folder;        // frames of files below it are left out
  int resume_opcode = -1;        // of the running CPython; -1 before 3.11
  PyPointer describe = nullptr;  // see GilHolder
};

struct StackSamplerStatistics {
  uint64_t samples;  // stacks read
  // ticks at which no stack could be read: it changed too fast, or the thread has not said yet
  // where its frames lie
  uint64_t unread;
  uint64_t visits;     // of the training thread
  uint64_t visit_ns;   // that it spent on them
  uint64_t ticks;      // of the sampler's thread
  uint64_t gil_waits;  // ticks at which the training thread waited for the GIL
};

class StackSampler {
 public:
  StackSampler(const CPythonApi& python, const StackSamplerOptions& options);

  // False, and why, where no thread can be started.
  bool Start(const char** why);
  void Stop();
  void Abandon();
  // On any thread, with the GIL, after it has told the core a sign of training.
  void OnTrainingCall();
  FullTrace& full_trace() { return full_trace_; }
  GarbageCollections& collections() { return collections_; }
  StackSamplerStatistics Read() const;

 private:
  enum class Request : uint8_t { kIdle, kRequested, kVisiting, kFilled };
  enum class Source : uint8_t { kUnknown, kMemory, kVisits };

  static void* Run(void* self);
  static int OnPendingCall(void* self);
  void TellThread();
  void Loop();
  void Tick(int64_t now_ns);
  void FollowTrainer();
  void SayWithoutStacks();
  // Where the frames of the training thread are found; nothing where it has not said so yet.
  std::optional<PythonThread> ThreadToRead() const;
  void TakeVisit();
  void ReadMemory(int64_t now_ns);
  void ReadWorker(int64_t now_ns);
  bool IsVisitDue(int64_t now_ns) const;
  void RequestVisit(int64_t now_ns);
  // A stack that was seen at time_ns, when the thread was in that state; nothing: a little later,
  // in whatever state.
  void Sample(int64_t time_ns, std::optional<ThreadState> state);
  // Hands the boundaries until then to the attribution. Whether there were any.
  bool PassBoundaries(int64_t until_ns);
  void PassSwitches(int64_t until_ns);
  void CutLongStretch(int64_t now_ns);
  uint32_t ProcessorWait();
  uint32_t WaitWithin(uint32_t function);
  void WatchGil(int64_t now_ns);
  void Visit();            // on the training thread, with the GIL
  void FillVisit();        // likewise
  void WriteMainThread();  // on any thread, with the GIL
  void DecideOnSource();   // likewise
  bool CanTakeGil() const;
  // False where the sampler shall stop.
  bool WaitUntil(int64_t monotonic_ns);

  const CPythonApi& python_;
  StackWalker walker_;              // the visit's
  FullTrace full_trace_;            // the training thread's
  GarbageCollections collections_;  // the training thread's
  FrameReader reader_;              // the starter's until there is a source
  std::atomic<Source> source_ = Source::kUnknown;
  ThreadBoard main_thread_;      // owner 0
  ThreadBoard training_thread_;  // owner: its number in the core
  OneAtATime telling_;
  // In the turn of telling_.
  uint32_t told_number_ = 0;  // of the thread that called last as the one that trains
  PythonThread told_thread_;
  // The training thread's while it visits, the sampler's while filled.
  PythonStack visited_;
  int64_t taken_ns_ = 0;
  std::vector<std::string> visited_path_;
  std::atomic<Request> request_ = Request::kIdle;

  // The sampler thread's.
  SamplingPace pace_;
  StackFunctions functions_;
  StackAttribution attribution_;
  WorkerStacks worker_stacks_;
  EroicaTrainer trainer_ = {.thread = 0, .number = 0};  // at the last tick
  std::optional<ThreadAccount> account_;                // its; nothing before the first tick
  std::optional<ThreadSwitches> switches_;              // likewise
  ThreadState state_ = ThreadState::kUnknown;           // its, at the last tick
  bool said_without_stacks_ = false;
  GilHolder holder_;
  GilWaits waits_;
  PythonStack stack_;
  std::vector<std::string> search_path_;  // sys.path
  int64_t requested_ns_ = 0;
  ThreadState requested_state_ = ThreadState::kUnknown;
  bool passed_since_request_ = false;  // the thread has passed a boundary
  int64_t last_tick_ns_ = 0;
  uint8_t lane_ = 0;
  uint32_t processor_wait_ = EROICA_NO_PARENT;
  // By function; bounded by the core's table.
  std::unordered_map<uint32_t, uint32_t> waits_within_;

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
