#include "producers/python/stack_sampler.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "producers/core/producer_core.h"
#include "producers/python/thread_lane.h"

namespace eroica {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
// Of a processor, that the main thread may use before it is made to look up.
constexpr int64_t kPatienceNs = 2'000'000;
// For which CPython lets the main thread run on before it asks for the GIL.
constexpr int64_t kSwitchIntervalNs = 5'000'000;
// What a nudge delays the main thread by on a processor of its own, and how many times as long as the
// last one did there is none. No pause is long: a call in C that keeps the GIL looks like a delay and
// is none, and what is not sampled is taken for a part of the next call that gives the GIL away.
constexpr int64_t kLeastDelayNs = 50'000;
constexpr int64_t kNudgePauses = 20;
constexpr int64_t kLongestPauseNs = 50'000'000;
// The last CPython whose main thread does not look up by itself.
constexpr int kLastDeafMinor = 12;
constexpr size_t kThreadStackBytes = 1 << 20;

int64_t MonotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
}

// What a thread has used of processors; 0 where it cannot be read.
int64_t CpuNsOf(clockid_t thread) {
  timespec used{};
  if (clock_gettime(thread, &used) != 0) return 0;
  return used.tv_sec * kSecondNs + used.tv_nsec;
}

// The clock of the main thread. How it follows from the thread's number is part of the kernel's ABI;
// pthread_getcpuclockid makes it in the same way, of threads that somebody has a pthread_t of.
clockid_t ClockOfMainThread() {
  constexpr clockid_t kOneThread = 4, kScheduler = 2;
  return (~static_cast<clockid_t>(getpid()) * 8) | kOneThread | kScheduler;
}

}  // namespace

StackSampler::StackSampler(const CPythonApi& python, const StackSamplerOptions& options)
    : python_(python),
      walker_(python, options.own_folder, options.resume_opcode),
      full_trace_(python, options.own_folder),
      collections_(python, options.own_folder, options.resume_opcode),
      pace_(static_cast<int64_t>(1e9 / std::clamp(options.hz, 0.1, 1'000.0))),
      attribution_([this](int64_t start_ns, int64_t end_ns, uint32_t leaf) {
        eroica_interval(start_ns, end_ns, leaf, lane_);
      }),
      probe_(getpid()),
      holder_(python, options.describe),
      waits_([this](int64_t start_ns, int64_t end_ns,
                    uint32_t wait) { eroica_interval(start_ns, end_ns, wait, lane_); },
             {[this] { holder_.Count(); },
              [this] { return CanTakeGil() ? holder_.Find() : std::string(); }}) {
  pthread_mutex_init(&mutex_, nullptr);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&stop_changed_, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

bool StackSampler::Start(const char** why) {
  lane_ = TrainingLane();
  // The host's signals are for the host's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kThreadStackBytes);
  running_ = pthread_create(&thread_, &attributes, &StackSampler::Run, this) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!running_) *why = "no thread could be started";
  return running_;
}

void StackSampler::Stop() {
  if (abandoned_ || !running_.exchange(false)) return;
  pthread_mutex_lock(&mutex_);
  stop_ = true;
  pthread_cond_signal(&stop_changed_);
  pthread_mutex_unlock(&mutex_);
  pthread_join(thread_, nullptr);
}

void StackSampler::Abandon() {
  abandoned_ = true;
  running_ = false;
}

StackSamplerStatistics StackSampler::Read() const {
  return {.samples = samples_,
          .walk_ns = walk_ns_,
          .nudges = nudges_,
          .ticks = ticks_,
          .gil_waits = gil_waits_};
}

void* StackSampler::Run(void* self) {
  pthread_setname_np(pthread_self(), "eroica-stacks");
  static_cast<StackSampler*>(self)->Loop();
  return nullptr;
}

bool StackSampler::WaitUntil(int64_t monotonic_ns) {
  const timespec until = {.tv_sec = monotonic_ns / kSecondNs, .tv_nsec = monotonic_ns % kSecondNs};
  pthread_mutex_lock(&mutex_);
  int timed_out = 0;
  while (!stop_ && timed_out == 0)
    timed_out = pthread_cond_timedwait(&stop_changed_, &mutex_, &until);
  const bool go_on = !stop_;
  pthread_mutex_unlock(&mutex_);
  return go_on;
}

void StackSampler::Loop() {
  int64_t next_ns = MonotonicNow();
  last_tick_ns_ = eroica_now_ns();
  const clockid_t training = ClockOfMainThread();
  while (WaitUntil(next_ns)) {
    const int64_t used_ns = CpuNsOf(training);
    Tick(eroica_now_ns(), used_ns - training_cpu_ns_);
    training_cpu_ns_ = used_ns;
    const int64_t now_ns = MonotonicNow();
    pace_.Tick(now_ns, CpuNsOf(CLOCK_THREAD_CPUTIME_ID), used_ns);
    next_ns = std::max(next_ns + pace_.period_ns(), now_ns);  // ticks that were missed are left out
  }
  TakeSample();
  attribution_.Finish();
  waits_.Finish();
}

void StackSampler::Tick(int64_t now_ns, int64_t used_ns) {
  ticks_.fetch_add(1, std::memory_order_relaxed);
  TakeSample();
  const bool wanted = eroica_wants(EROICA_PYTHON);
  // While Python is traced in full, too: functions of windows with and without compare only as both saw them.
  if (!wanted) {
    attribution_.Finish();
    waits_.Finish();
  } else {
    WatchGil(now_ns);
  }
  if (wanted && request_.load(std::memory_order_relaxed) == Request::kIdle) {
    RequestSample();
  } else if (used_ns >= kPatienceNs && python_.minor <= kLastDeafMinor) {
    NudgeIfDeaf(MonotonicNow());
  }
  last_tick_ns_ = now_ns;
}

void StackSampler::RequestSample() {
  requested_ns_ = eroica_now_ns();
  request_.store(Request::kRequested, std::memory_order_release);
  const int failed = python_._PyEval_AddPendingCall != nullptr
                         ? python_._PyEval_AddPendingCall(python_.PyInterpreterState_Main(),
                                                          &StackSampler::OnPendingCall, this)
                         : python_.Py_AddPendingCall(&StackSampler::OnPendingCall, this);
  if (failed != 0) request_.store(Request::kIdle, std::memory_order_relaxed);  // the queue is full
}

void StackSampler::TakeSample() {
  if (request_.load(std::memory_order_acquire) != Request::kFilled) return;
  functions_.Name(stack_.named);
  const uint32_t leaf = functions_.LeafOf(stack_);
  if (leaf != EROICA_NO_PARENT) {
    attribution_.Sample(requested_ns_, taken_ns_, leaf, boundary_ns_);
    eroica_training_function(leaf);
  }
  request_.store(Request::kIdle, std::memory_order_relaxed);
}

bool StackSampler::CanTakeGil() const {
  // A thread that asks for the GIL of an interpreter that ends is ended by it.
  return python_.Py_IsFinalizing == nullptr || python_.Py_IsFinalizing() == 0;
}

void StackSampler::NudgeIfDeaf(int64_t now_ns) {
  if (request_.load(std::memory_order_acquire) != Request::kRequested || !CanTakeGil()) return;
  if (now_ns < next_nudge_ns_) return;
  // In a system call it has given the GIL away, and looks up when it takes it back.
  if (probe_.Read() != ThreadState::kRunning) return;
  nudges_.fetch_add(1, std::memory_order_relaxed);
  python_.PyGILState_Release(python_.PyGILState_Ensure());
  // Once asked, the main thread waits until this one has had the GIL, and with it a processor.
  const int64_t end_ns = MonotonicNow();
  const int64_t delay_ns = std::max(end_ns - now_ns - kSwitchIntervalNs, kLeastDelayNs);
  next_nudge_ns_ = end_ns + std::min(kNudgePauses * delay_ns, kLongestPauseNs);
}

void StackSampler::WatchGil(int64_t now_ns) {
  const bool waiting = probe_.Read() == ThreadState::kWaitingForGil;
  if (waiting) gil_waits_.fetch_add(1, std::memory_order_relaxed);
  waits_.Tick(last_tick_ns_, now_ns, waiting);
  if (waits_.waiting_ns() > kSecondNs) eroica_training_function(waits_.function());
}

int StackSampler::OnPendingCall(void* self) {
  auto* sampler = static_cast<StackSampler*>(self);
  try {
    sampler->ReadStack();
  } catch (...) {  // no memory: a stack is lost, the interpreter above must not see it
    sampler->request_.store(Request::kIdle, std::memory_order_release);
  }
  return 0;
}

void StackSampler::ReadStack() {
  if (abandoned_ || !running_ || gettid() != getpid()) {
    request_.store(Request::kIdle, std::memory_order_relaxed);
    return;
  }
  const int64_t start_ns = eroica_now_ns();
  full_trace_.InstallIfWanted();
  walker_.Walk(&stack_);
  taken_ns_ = start_ns;
  boundary_ns_ = training_boundary_ns.load(std::memory_order_relaxed);
  samples_.fetch_add(1, std::memory_order_relaxed);
  walk_ns_.fetch_add(static_cast<uint64_t>(eroica_now_ns() - start_ns), std::memory_order_relaxed);
  request_.store(Request::kFilled, std::memory_order_release);
}

}  // namespace eroica
