#include "producers/python/stack_sampler.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>

#include "producers/core/background_thread.h"
#include "producers/core/producer_core.h"
#include "producers/core/thrown_line.h"
#include "producers/python/thread_lane.h"
#include "schemas/thread_boundary.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

// Between visits of the main thread where its stacks are read from memory.
constexpr int64_t kVisitNs = kNsPerSecond;
constexpr size_t kThreadStackBytes = 1 << 20;

int64_t MonotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// What a thread has used of processors; 0 where it cannot be read.
int64_t CpuNsOf(clockid_t thread) {
  timespec used{};
  if (clock_gettime(thread, &used) != 0) return 0;
  return used.tv_sec * kNsPerSecond + used.tv_nsec;
}

std::optional<int64_t> ActiveNsOf(const RunTimesFile& file) {
  const std::optional<RunTimes> times = file.Read();
  if (!times) return std::nullopt;
  return times->on_processor_ns + times->runnable_ns;
}

// The clock of the main thread. How it follows from the thread's number is part of the kernel's
// ABI; pthread_getcpuclockid makes it in the same way, of threads that somebody has a pthread_t of.
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
      reader_(python, options.own_folder),
      pace_(static_cast<int64_t>(1e9 / std::clamp(options.hz, 0.1, 1'000.0))),
      attribution_([this](int64_t start_ns, int64_t end_ns, uint32_t leaf) {
        eroica_interval(start_ns, end_ns, leaf, lane_);
      }),
      probe_(getpid()),
      times_(getpid()),
      holder_(python, options.describe),
      waits_([this](int64_t start_ns, int64_t end_ns,
                    uint32_t wait) { eroica_interval(start_ns, end_ns, wait, lane_); },
             {[this] { holder_.Count(); },
              [this] { return CanTakeGil() ? holder_.Find() : std::string(); }},
             [this] { return ActiveNsOf(times_); }) {
  pthread_mutex_init(&mutex_, nullptr);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&stop_changed_, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

bool StackSampler::Start(const char** why) {
  lane_ = TrainingLane();
  if (gettid() == getpid()) {
    DecideOnSource();
    search_path_ = SearchPath(python_);
  }
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
          .unread = unread_,
          .visits = visits_,
          .visit_ns = visit_ns_,
          .ticks = ticks_,
          .gil_waits = gil_waits_};
}

void* StackSampler::Run(void* self) {
  RunInBackground("eroica-stacks");
  static std::atomic<bool> said{false};
  RunAtBoundary(
      [self] { static_cast<StackSampler*>(self)->Loop(); },
      [](const Thrown& thrown) { SayThrownOnce(&said, "the sampler of Python's stacks", thrown); });
  return nullptr;
}

bool StackSampler::WaitUntil(int64_t monotonic_ns) {
  const timespec until = {.tv_sec = monotonic_ns / kNsPerSecond,
                          .tv_nsec = monotonic_ns % kNsPerSecond};
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
    Tick(eroica_now_ns());
    const int64_t now_ns = MonotonicNow();
    pace_.Tick(now_ns, CpuNsOf(CLOCK_THREAD_CPUTIME_ID), CpuNsOf(training));
    next_ns = std::max(next_ns + pace_.NextNs(), now_ns);  // ticks that were missed are left out
  }
  TakeVisit();
  attribution_.Finish();
  waits_.Finish();
}

void StackSampler::Tick(int64_t now_ns) {
  ticks_.fetch_add(1, std::memory_order_relaxed);
  TakeVisit();
  // While Python is traced in full, too: functions of windows with and without compare only as both
  // saw them.
  if (eroica_wants(EROICA_PYTHON)) {
    WatchGil(now_ns);
    if (source_.load(std::memory_order_acquire) == Source::kMemory) ReadMemory(now_ns);
    if (IsVisitDue(now_ns)) RequestVisit(now_ns);
  } else {
    attribution_.Finish();
    waits_.Finish();
  }
  last_tick_ns_ = now_ns;
}

bool StackSampler::IsVisitDue(int64_t now_ns) const {
  if (request_.load(std::memory_order_relaxed) != Request::kIdle) return false;
  const bool traces = eroica_wants_full_trace() && !full_trace_.installed();
  return source_.load(std::memory_order_relaxed) != Source::kMemory || traces ||
         now_ns - requested_ns_ >= kVisitNs;
}

void StackSampler::RequestVisit(int64_t now_ns) {
  requested_ns_ = now_ns;
  request_.store(Request::kRequested, std::memory_order_release);
  const int failed = python_._PyEval_AddPendingCall != nullptr
                         ? python_._PyEval_AddPendingCall(python_.PyInterpreterState_Main(),
                                                          &StackSampler::OnPendingCall, this)
                         : python_.Py_AddPendingCall(&StackSampler::OnPendingCall, this);
  if (failed != 0) request_.store(Request::kIdle, std::memory_order_relaxed);  // the queue is full
}

void StackSampler::TakeVisit() {
  if (request_.load(std::memory_order_acquire) != Request::kFilled) return;
  if (source_.load(std::memory_order_relaxed) == Source::kMemory) {
    search_path_.swap(visited_path_);
  } else {
    std::swap(stack_, visited_);
    Sample(requested_ns_, taken_ns_, boundary_ns_);
  }
  request_.store(Request::kIdle, std::memory_order_relaxed);
}

void StackSampler::ReadMemory(int64_t now_ns) {
  const int64_t boundary_ns = training_boundary_ns.load(std::memory_order_acquire);
  if (reader_.Read(now_ns, search_path_, &stack_)) {
    samples_.fetch_add(1, std::memory_order_relaxed);
    Sample(now_ns, now_ns, boundary_ns);
  } else {
    unread_.fetch_add(1, std::memory_order_relaxed);
    functions_.Name(stack_.named);  // those that were read are not named again
  }
}

void StackSampler::Sample(int64_t requested_ns, int64_t taken_ns, int64_t boundary_ns) {
  functions_.Name(stack_.named);
  const uint32_t leaf = functions_.LeafOf(stack_);
  if (leaf == EROICA_NO_PARENT) return;
  eroica_sample(taken_ns, EROICA_STACKS, 1);
  if (IsInsideCollective()) {
    attribution_.Interrupt(boundary_ns);
  } else {
    attribution_.Sample(requested_ns, taken_ns, leaf, boundary_ns);
  }
  eroica_training_function(leaf);
}

bool StackSampler::CanTakeGil() const {
  // A thread that asks for the GIL of an interpreter that ends is ended by it.
  return python_.Py_IsFinalizing == nullptr || python_.Py_IsFinalizing() == 0;
}

void StackSampler::WatchGil(int64_t now_ns) {
  const ThreadState state = probe_.Read();
  if (state == ThreadState::kWaitingForGil) gil_waits_.fetch_add(1, std::memory_order_relaxed);
  waits_.Tick(last_tick_ns_, now_ns, state);
  if (waits_.waiting_ns() > kNsPerSecond) eroica_training_function(waits_.function());
}

int StackSampler::OnPendingCall(void* self) {
  auto* sampler = static_cast<StackSampler*>(self);
  // Where there is no memory, a visit is lost.
  RunAtBoundary([sampler] { sampler->Visit(); },
                [sampler](const Thrown&) {
                  sampler->request_.store(Request::kIdle, std::memory_order_release);
                });
  return 0;
}

void StackSampler::Visit() {
  if (abandoned_ || !running_ || gettid() != getpid()) {
    request_.store(Request::kIdle, std::memory_order_relaxed);
    return;
  }
  const int64_t start_ns = eroica_now_ns();
  full_trace_.InstallIfWanted();
  if (source_.load(std::memory_order_relaxed) == Source::kUnknown) DecideOnSource();
  if (source_.load(std::memory_order_relaxed) == Source::kMemory) {
    visited_path_ = SearchPath(python_);
  } else {
    walker_.Walk(&visited_);
    taken_ns_ = start_ns;
    boundary_ns_ = training_boundary_ns.load(std::memory_order_relaxed);
    samples_.fetch_add(1, std::memory_order_relaxed);
  }
  visits_.fetch_add(1, std::memory_order_relaxed);
  visit_ns_.fetch_add(static_cast<uint64_t>(eroica_now_ns() - start_ns), std::memory_order_relaxed);
  request_.store(Request::kFilled, std::memory_order_release);
}

void StackSampler::DecideOnSource() {
  const Source source = reader_.Check() ? Source::kMemory : Source::kVisits;
  source_.store(source, std::memory_order_release);
}

}  // namespace eroica
