#include "producers/cupti/capture_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>

#include "producers/core/background_thread.h"
#include "producers/core/thrown_line.h"
#include "schemas/thread_boundary.h"

namespace eroica {
namespace {

int64_t MonotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

CaptureThread::CaptureThread(int64_t period_ns)
    : period_ns_(period_ns), process_(getpid()), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

CaptureThread::~CaptureThread() {
  if (started_ && Usable()) {
    stop_.store(true, std::memory_order_release);
    Wake();
    pthread_join(thread_, nullptr);
  }
  if (event_ >= 0) close(event_);
}

bool CaptureThread::Start(CuptiCapture& capture) {
  if (event_ < 0) return false;
  capture_ = &capture;
  Publish(capture.state(), false);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // The thread inherits the mask: the process's signals go to the process's own threads.
  pthread_sigmask(SIG_BLOCK, &all, &before);
  started_ = pthread_create(&thread_, nullptr, &CaptureThread::Run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started_;
}

void* CaptureThread::Run(void* self) {
  RunInBackground("eroica-cupti");
  auto* thread = static_cast<CaptureThread*>(self);
  static std::atomic<bool> said{false};
  RunAtBoundary([thread] { thread->Loop(); },
                [thread](const Thrown& thrown) {
                  // Before those who wait for the end hear of it.
                  SayThrownOnce(&said, "the capture of device work", thrown);
                  thread->Publish(CuptiCapture::State::kOff, true);
                });
  return nullptr;
}

void CaptureThread::Publish(CuptiCapture::State state, bool ended) {
  {
    const MutexLock lock(mutex_);
    state_ = state;
    ended_ = ended;
  }
  changed_.notify_all();
}

void CaptureThread::Loop() {
  bool on = true;
  while (on) {
    const bool last = stop_.load(std::memory_order_acquire);
    if (last) capture_->Stop();
    const CuptiCapture::State state = capture_->Step(MonotonicNs());
    on = !last && state != CuptiCapture::State::kOff;
    Publish(state, !on);
    if (on) WaitForWork();
  }
}

void CaptureThread::WaitForWork() {
  pollfd wait = {.fd = event_, .events = POLLIN, .revents = 0};
  poll(&wait, 1, static_cast<int>(period_ns_ / 1'000'000));
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t ignored = read(event_, &count, sizeof(count));
}

void CaptureThread::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = write(event_, &one, sizeof(one));
}

bool CaptureThread::Usable() const { return started_ && getpid() == process_; }

template <typename Condition>
bool CaptureThread::WaitUntil(uint32_t timeout_ms, Condition condition) {
  MutexLock lock(mutex_);
  return changed_.wait_for(lock.native(), std::chrono::milliseconds(timeout_ms), condition);
}

bool CaptureThread::Yield(uint32_t timeout_ms) {
  if (!Usable()) return true;
  capture_->RequestYield(true);
  Wake();
  return WaitUntil(timeout_ms, [&]() EROICA_REQUIRES(mutex_) {
    return ended_ || state_ == CuptiCapture::State::kYielded;
  });
}

void CaptureThread::Resume() {
  if (!Usable()) return;
  capture_->RequestYield(false);
  Wake();
}

bool CaptureThread::Stop(uint32_t timeout_ms) {
  if (!Usable()) return true;
  stop_.store(true, std::memory_order_release);
  Wake();
  return WaitUntil(timeout_ms, [&]() EROICA_REQUIRES(mutex_) { return ended_; });
}

CuptiCapture::State CaptureThread::state() {
  if (!Usable()) return CuptiCapture::State::kOff;
  const MutexLock lock(mutex_);
  return state_;
}

}  // namespace eroica
