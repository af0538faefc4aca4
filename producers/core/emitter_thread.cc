#include "producers/core/emitter_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "producers/core/background_thread.h"
#include "producers/core/capture_requests.h"
#include "producers/core/place_note.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

// On a host with fewer processors than ranks each tick takes one from somebody who trains.
constexpr milliseconds kLongestTick{500};
constexpr milliseconds kLongestTickOfMany{100};  // a burst of 160,000 events a second still fits
constexpr milliseconds kShortestTick{5};
constexpr int kTicksBetweenReclaims = 8;

// full: the fullest ring at the last tick, 0 to 1.
milliseconds NextTick(milliseconds tick, double full, bool expects_many, milliseconds longest) {
  if (full > 0.25) return std::max(tick / 2, kShortestTick);
  if (expects_many || full > 0.02) longest = std::min(longest, kLongestTickOfMany);
  return full < 0.05 ? std::min(tick * 2, longest) : std::min(tick, longest);
}

// As often as the host sampler wants to look.
milliseconds LongestTick(const ProducerConfig& config) {
  if (config.host_hz <= 0) return kLongestTick;
  const milliseconds period(static_cast<int64_t>(1'000 / config.host_hz));
  return std::clamp(period, kShortestTick, kLongestTick);
}

bool IsAlive(pid_t thread) { return ::syscall(SYS_tgkill, ::getpid(), thread, 0) == 0; }

uint64_t ThreadCpuNs() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

EmitterThread::EmitterThread(Parts parts) : parts_(std::move(parts)) {}

absl::Status EmitterThread::Start() {
  // The new thread inherits the mask: no handler of the host runs on it, not even once.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  absl::Status status;
  try {
    thread_ = BoundaryThread([this] { Run(); }, [](const Thrown&) {});
  } catch (const std::exception& error) {  // a limit of threads, or no memory for a stack
    status = absl::ResourceExhaustedError(std::string("cannot start a thread: ") + error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

bool EmitterThread::Stop(milliseconds timeout) {
  MutexLock lock(mutex_);
  stop_ = true;
  close_timeout_ = timeout;
  changed_.notify_all();
  const bool done = changed_.wait_for(lock.native(), timeout + milliseconds(500),
                                      [this]() EROICA_REQUIRES(mutex_) { return finished_; });
  lock.Unlock();
  if (done) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return done;
}

bool EmitterThread::HasEnded() {
  const MutexLock lock(mutex_);
  return finished_;
}

void EmitterThread::Run() {
  RunInBackground("eroica-emitter");
  RunAtBoundary([this] { Emit(); },
                [this](const Thrown& thrown) {
                  parts_.give_up(std::string("an exception ended the emitter: ") + thrown.text());
                });
  const MutexLock lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

void EmitterThread::Emit() {
  absl::StatusOr<std::unique_ptr<Transport>> transport =
      OpenTransport(parts_.config, parts_.emitter.identity.rank.value);
  if (transport.ok()) {
    Emitter emitter(parts_.state, parts_.emitter, transport->get());
    Loop(emitter, **transport);
  } else {
    parts_.give_up(std::string(transport.status().message()));
  }
}

void EmitterThread::Loop(Emitter& emitter, Transport& transport) {
  CoreState& state = *parts_.state;
  const milliseconds longest = LongestTick(parts_.config);
  milliseconds tick = std::min(longest, kLongestTickOfMany);
  absl::Status told;
  CaptureRequests requests(parts_.config.requests);
  PlaceNote note(parts_.config.exchange, parts_.emitter.identity.rank.value);
  bool hands_over = false;
  for (int round = 0; !hands_over && !WaitFor(tick); ++round) {
    hands_over = parts_.hands_over && parts_.hands_over();
    if (parts_.periodic) parts_.periodic(state.clock.NowNs());
    state.watches.LookAtAll();
    const double full = emitter.Tick(state.clock.NowNs());
    tick = NextTick(tick, full, emitter.expects_many_events(), longest);
    if (round % kTicksBetweenReclaims == 0) state.rings->Reclaim(IsAlive);
    NoteCost(transport);
    if (const int64_t now_ns = state.clock.NowNs(); note.IsDue(now_ns))
      note.Write(emitter.Place(now_ns), now_ns);
    if (requests.Tick(state.clock.NowNs(), parts_.emitter.identity, emitter, transport) ==
        CaptureRequests::Answer::kStop) {
      parts_.give_up("switched off by the control topic");
      break;
    }
    if (told.ok() && !emitter.last_error().ok()) {
      told = emitter.last_error();
      parts_.complain(std::string(told.message()));
    }
  }
  emitter.Finish(state.clock.NowNs());
  if (const int64_t now_ns = state.clock.NowNs(); note.IsOpen())
    note.Write(emitter.Place(now_ns), now_ns);
  transport.Close(CloseTimeout()).IgnoreError();
  if (hands_over) parts_.handed_over();
  NoteCost(transport);
}

bool EmitterThread::WaitFor(milliseconds tick) {
  MutexLock lock(mutex_);
  return changed_.wait_for(lock.native(), tick, [this]() EROICA_REQUIRES(mutex_) { return stop_; });
}

milliseconds EmitterThread::CloseTimeout() {
  const MutexLock lock(mutex_);
  return close_timeout_;
}

void EmitterThread::NoteCost(const Transport& transport) {
  CoreState& state = *parts_.state;
  state.bytes_sent.store(transport.bytes(), std::memory_order_relaxed);
  state.emitter_cpu_ns.store(ThreadCpuNs(), std::memory_order_relaxed);
  state.memory_bytes.store(
      state.rings->memory_bytes() + state.names.memory_bytes() + sizeof(CoreState),
      std::memory_order_relaxed);
}

}  // namespace eroica
