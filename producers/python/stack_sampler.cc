#include "producers/python/stack_sampler.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <utility>

#include "producers/core/background_thread.h"
#include "producers/core/producer_core.h"
#include "producers/core/thrown_line.h"
#include "producers/python/this_thread.h"
#include "producers/python/thread_lane.h"
#include "producers/python/training_boundaries.h"
#include "schemas/thread_boundary.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

// Between visits of the training thread where stacks are read from memory.
constexpr int64_t kVisitNs = kNsPerSecond;
constexpr size_t kThreadStackBytes = 1 << 20;

int64_t MonotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// What the calling thread has used of processors.
int64_t OwnCpuNs() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * kNsPerSecond + used.tv_nsec;
}

bool IsMainThread() { return ThisThread() == getpid(); }

}  // namespace

StackSampler::StackSampler(const CPythonApi& python, const StackSamplerOptions& options)
    : python_(python),
      walker_(python, options.own_folder, options.resume_opcode),
      full_trace_(python, options.own_folder),
      collections_(python, options.own_folder, options.resume_opcode),
      reader_(python, options.own_folder),
      pace_(static_cast<int64_t>(1e9 / std::clamp(options.hz, 0.1, 1'000.0))),
      attribution_([this](int64_t start_ns, int64_t end_ns,
                          uint32_t leaf) { eroica_interval(start_ns, end_ns, leaf, lane_); },
                   [this](int64_t start_ns, int64_t end_ns) {
                     eroica_interval(start_ns, end_ns, ProcessorWait(), lane_);
                   },
                   [this](int64_t start_ns, int64_t end_ns, uint32_t function) {
                     eroica_interval(start_ns, end_ns, WaitWithin(function), WaitsLane());
                   }),
      worker_stacks_(python, options.own_folder),
      holder_(python, options.describe),
      waits_([this](int64_t start_ns, int64_t end_ns,
                    uint32_t wait) { eroica_interval(start_ns, end_ns, wait, lane_); },
             {[this] { holder_.Count(); },
              [this] { return CanTakeGil() ? holder_.Find(trainer_.thread) : std::string(); }},
             [this] { return account_ ? account_->ActiveNs() : std::nullopt; }) {
  pthread_mutex_init(&mutex_, nullptr);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&stop_changed_, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

bool StackSampler::Start(const char** why) {
  lane_ = TrainingLane();
  DecideOnSource();
  WriteMainThread();
  search_path_ = SearchPath(python_);
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
  RunAtBoundary([self] { static_cast<StackSampler*>(self)->Loop(); },
                [](const Thrown& thrown) {
                  eroica_reports_processor_waits(false);  // the host sampler does from here on
                  SayThrownOnce(&said, "the sampler of Python's stacks", thrown);
                });
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
  while (WaitUntil(next_ns)) {
    Tick(eroica_now_ns());
    const int64_t now_ns = MonotonicNow();
    if (switches_) switches_->KeepPace(now_ns);
    pace_.Tick(now_ns, OwnCpuNs(), account_ ? account_->CpuNs() : 0);
    next_ns = std::max(next_ns + pace_.NextNs(), now_ns);  // ticks that were missed are left out
  }
  TakeVisit();
  PassBoundaries(eroica_now_ns());
  attribution_.Finish();
  waits_.Finish();
}

void StackSampler::Tick(int64_t now_ns) {
  ticks_.fetch_add(1, std::memory_order_relaxed);
  if (last_tick_ns_ == 0) last_tick_ns_ = now_ns;  // the rank was handed over until now
  TakeVisit();
  FollowTrainer();
  // While Python is traced in full, too: functions of windows with and without compare only as both
  // saw them.
  if (eroica_wants(EROICA_PYTHON)) {
    WatchGil(now_ns);
    if (source_.load(std::memory_order_acquire) == Source::kMemory) {
      ReadMemory(now_ns);
      ReadWorker(now_ns);
    }
    if (IsVisitDue(now_ns)) RequestVisit(now_ns);
    CutLongStretch(now_ns);
  } else {
    PassBoundaries(now_ns);
    attribution_.Finish();
    waits_.Finish();
  }
  last_tick_ns_ = now_ns;
}

void StackSampler::FollowTrainer() {
  if (state_ == ThreadState::kEnded && trainer_.number != 0) {
    LeaveAll();
    EndOfAwait();
    eroica_trainer_ended(trainer_.number);
  }
  const EroicaTrainer trainer = eroica_trainer();
  if (trainer.thread == 0 || (trainer.number == trainer_.number && account_)) return;
  // The main thread stays the same thread when it shows its first sign. A thread with the system id
  // of one that trained before is another thread.
  if (trainer.thread != trainer_.thread || trainer_.number != 0) {
    attribution_.Finish();
    waits_.Finish();
    account_.emplace(trainer.thread);
    switches_.emplace(trainer.thread, MonotonicNow());
    eroica_reports_processor_waits(account_->Times().has_value());
    state_ = ThreadState::kUnknown;
  }
  trainer_ = trainer;
  Request unmet = Request::kRequested;
  request_.compare_exchange_strong(unmet, Request::kIdle);
  if (trainer_.thread != getpid() && source_.load(std::memory_order_acquire) == Source::kVisits)
    SayWithoutStacks();
}

void StackSampler::SayWithoutStacks() {
  if (std::exchange(said_without_stacks_, true)) return;
  std::fputs(
      "eroica: no Python stacks while a thread beside the main one trains: the frames of this "
      "CPython cannot be read from memory\n",
      stderr);
}

std::optional<PythonThread> StackSampler::ThreadToRead() const {
  if (trainer_.number != 0) {
    if (const auto thread = training_thread_.Read(trainer_.number)) return thread;
  }
  return trainer_.thread == getpid() ? main_thread_.Read(0) : std::nullopt;
}

bool StackSampler::IsVisitDue(int64_t now_ns) const {
  if (request_.load(std::memory_order_relaxed) != Request::kIdle) return false;
  const bool traces = eroica_wants_full_trace() && !full_trace_.IsInstalledOn(trainer_.thread);
  const bool reads = source_.load(std::memory_order_relaxed) == Source::kMemory;
  const bool samples = !reads && trainer_.thread == getpid();
  return samples || traces || now_ns - requested_ns_ >= kVisitNs;
}

void StackSampler::RequestVisit(int64_t now_ns) {
  requested_ns_ = now_ns;
  requested_state_ = state_;
  passed_since_request_ = false;
  request_.store(Request::kRequested, std::memory_order_release);
  if (trainer_.thread != getpid()) return;  // it comes by itself
  const int failed = python_._PyEval_AddPendingCall != nullptr
                         ? python_._PyEval_AddPendingCall(python_.PyInterpreterState_Main(),
                                                          &StackSampler::OnPendingCall, this)
                         : python_.Py_AddPendingCall(&StackSampler::OnPendingCall, this);
  if (failed != 0) request_.store(Request::kIdle, std::memory_order_relaxed);  // the queue is full
}

void StackSampler::TakeVisit() {
  if (request_.load(std::memory_order_acquire) != Request::kFilled) return;
  search_path_.swap(visited_path_);
  if (visited_.depth > 0) {
    std::swap(stack_, visited_);
    samples_.fetch_add(1, std::memory_order_relaxed);
    PassBoundaries(taken_ns_);
    // Of one long call: the stack was there when it was asked for.
    if (!passed_since_request_) Sample(requested_ns_, requested_state_);
    Sample(taken_ns_, ThreadState::kRunning);
    eroica_sample(taken_ns_, EROICA_STACKS, 1);
  }
  request_.store(Request::kIdle, std::memory_order_relaxed);
}

void StackSampler::ReadMemory(int64_t now_ns) {
  const std::optional<PythonThread> thread = ThreadToRead();
  if (!thread) {
    unread_.fetch_add(1, std::memory_order_relaxed);
  } else if (reader_.Read(*thread, now_ns, search_path_, &stack_)) {
    samples_.fetch_add(1, std::memory_order_relaxed);
    eroica_sample(now_ns, EROICA_STACKS, 1);
    PassBoundaries(now_ns);
    // On a busy host the thread may have gone on before its stack was read.
    const bool went_on =
        PassBoundaries(eroica_now_ns()) || !account_ || account_->State() != state_;
    Sample(now_ns, went_on ? std::nullopt : std::optional(state_));
  } else {
    unread_.fetch_add(1, std::memory_order_relaxed);
    functions_.Name(stack_.named);  // those that were read are not named again
  }
}

// Behind the training thread's own stack, which says no more than that it waits.
void StackSampler::ReadWorker(int64_t now_ns) {
  const std::optional<AwaitedWorker> worker = WorkerThatIsAwaited();
  const std::optional<PythonThread> thread = worker ? ThreadToRead() : std::nullopt;
  if (thread) worker_stacks_.Look(*worker, *thread, last_tick_ns_, now_ns, search_path_);
}

bool StackSampler::PassBoundaries(int64_t until_ns) {
  bool passed = false;
  while (const std::optional<TrainingBoundary> boundary = TakeBoundary(until_ns)) {
    if (boundary->thread != trainer_.thread) continue;
    PassSwitches(boundary->time_ns);
    attribution_.Pass(*boundary);
    passed = true;
    passed_since_request_ = passed_since_request_ || boundary->time_ns > requested_ns_;
  }
  PassSwitches(until_ns);
  if (attribution_.in_collective() && !IsInsideCollective()) attribution_.LeaveCollective(until_ns);
  return passed;
}

void StackSampler::PassSwitches(int64_t until_ns) {
  if (!switches_) return;
  while (const std::optional<ThreadSwitch> change = switches_->Take(until_ns))
    attribution_.Switch(*change);
}

void StackSampler::Sample(int64_t time_ns, std::optional<ThreadState> state) {
  functions_.Name(stack_.named);
  const uint32_t leaf = functions_.LeafOf(stack_, attribution_.inside());
  if (leaf == EROICA_NO_PARENT) return;
  if (state) attribution_.Sample({.time_ns = time_ns, .leaf = leaf, .state = *state});
  // How it waits for a batch says nothing; where the worker is says more, if that is read.
  const std::optional<AwaitedWorker> worker = WorkerThatIsAwaited();
  eroica_training_function(worker ? worker->function : leaf);
}

// While the main thread is asked for a visit, what it runs is not known yet.
void StackSampler::CutLongStretch(int64_t now_ns) {
  const bool awaits_stack = source_.load(std::memory_order_relaxed) != Source::kMemory &&
                            trainer_.thread == getpid() &&
                            request_.load(std::memory_order_relaxed) != Request::kIdle;
  if (awaits_stack) return;
  PassBoundaries(now_ns);
  if (!account_ || !attribution_.IsLong(now_ns)) return;
  // This thread may have waited for a processor since: the counts are of the moment after.
  const std::optional<RunTimes> times = account_->Times();
  const int64_t here_ns = eroica_now_ns();
  PassBoundaries(here_ns);
  if (attribution_.IsLong(here_ns)) attribution_.Cut(here_ns, times);
}

uint32_t StackSampler::ProcessorWait() {
  if (processor_wait_ == EROICA_NO_PARENT)
    processor_wait_ = eroica_function("(runnable, waiting for a processor)", EROICA_PYTHON,
                                      EROICA_WAIT_OTHER, EROICA_NO_PARENT);
  return processor_wait_;
}

uint32_t StackSampler::WaitWithin(uint32_t function) {
  const auto [known, is_new] = waits_within_.try_emplace(function, 0);
  if (is_new)
    known->second =
        eroica_function("(waits for a processor)", EROICA_PYTHON, EROICA_WAIT_NONE, function);
  return known->second;
}

bool StackSampler::CanTakeGil() const {
  // A thread that asks for the GIL of an interpreter that ends is ended by it.
  return python_.Py_IsFinalizing == nullptr || python_.Py_IsFinalizing() == 0;
}

void StackSampler::WatchGil(int64_t now_ns) {
  if (!account_) return;
  state_ = account_->State();
  if (state_ == ThreadState::kWaitingForGil) gil_waits_.fetch_add(1, std::memory_order_relaxed);
  waits_.Tick(last_tick_ns_, now_ns, state_);
  if (waits_.waiting_ns() > kNsPerSecond) eroica_training_function(waits_.function());
}

int StackSampler::OnPendingCall(void* self) {
  static_cast<StackSampler*>(self)->Visit();
  return 0;
}

void StackSampler::TellThread() {
  const auto turn = telling_.Take();
  const EroicaTrainer trainer = eroica_trainer();
  const std::optional<PythonThread> here = PythonThread::Here(python_);
  // Where another one has begun to train since, it tells itself.
  if (!turn || !here || trainer.thread != ThisThread()) return;
  if (trainer.number == told_number_ && *here == told_thread_) return;
  if (trainer.number != told_number_) {  // those of a thread that trained before
    LeaveAll();
    EndOfAwait();
  }
  told_number_ = trainer.number;
  told_thread_ = *here;
  training_thread_.Write(trainer.number, *here);
}

void StackSampler::OnTrainingCall() {
  if (abandoned_ || !running_ || !eroica_trains()) return;
  TellThread();
  if (IsMainThread() || request_.load(std::memory_order_relaxed) != Request::kRequested) return;
  OnPendingCall(this);
}

void StackSampler::WriteMainThread() {
  const std::optional<PythonThread> here = PythonThread::Here(python_);
  if (IsMainThread() && here) main_thread_.Write(0, *here);
}

void StackSampler::Visit() {
  if (abandoned_ || !running_) return request_.store(Request::kIdle, std::memory_order_relaxed);
  Request asked = Request::kRequested;
  // Asked of a thread that trained before, or met already by the one that trains.
  if (!eroica_trains() || !request_.compare_exchange_strong(asked, Request::kVisiting)) return;
  // Where there is no memory, a visit is lost.
  RunAtBoundary(
      [this] { FillVisit(); },
      [this](const Thrown&) { request_.store(Request::kIdle, std::memory_order_release); });
}

void StackSampler::FillVisit() {
  const int64_t start_ns = eroica_now_ns();
  full_trace_.InstallIfWanted();
  WriteMainThread();
  if (source_.load(std::memory_order_relaxed) == Source::kUnknown) DecideOnSource();
  visited_path_ = SearchPath(python_);
  visited_.depth = 0;
  // Another thread comes in calls of Eroica's only: what it does else is not seen there.
  if (source_.load(std::memory_order_relaxed) == Source::kVisits && IsMainThread()) {
    walker_.Walk(&visited_);
    taken_ns_ = start_ns;
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
