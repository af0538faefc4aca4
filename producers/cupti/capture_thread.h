// The thread that a capture lives on: it steps it every flush period, and at once when a buffer
// came back or somebody asks for CUPTI. It takes no signals, and the process does not wait for it.
//
// Start and Stop belong to one caller. Wake is for any thread: a write to an eventfd, no lock.
// Yield and Resume are for any thread that may wait: they hold a lock that the capture's thread
// takes only to say where it stands, never while it calls CUPTI. In a forked child all of them do
// nothing: the thread is not there.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>

#include "producers/cupti/cupti_capture.h"
#include "schemas/mutex.h"

namespace eroica {

class CaptureThread {
 public:
  explicit CaptureThread(int64_t period_ns = 500'000'000);
  // Stops, and waits for the thread to end: for tests. A process never destroys its capture.
  ~CaptureThread();
  CaptureThread(const CaptureThread&) = delete;
  CaptureThread& operator=(const CaptureThread&) = delete;

  // capture has been started, and from now on belongs to the thread. False where the system gives
  // no thread.
  bool Start(CuptiCapture& capture);
  void Wake();
  // Hands CUPTI over. True once it is free for another client; false where this took too long.
  bool Yield(uint32_t timeout_ms);
  void Resume();
  // The last records, then the end. False where this took too long; the thread then ends by itself.
  bool Stop(uint32_t timeout_ms);

  CuptiCapture::State state();

 private:
  static void* Run(void* self);
  void Loop();
  void Publish(CuptiCapture::State state, bool ended);
  void WaitForWork();
  bool Usable() const;
  template <typename Condition>
  bool WaitUntil(uint32_t timeout_ms, Condition condition);

  const int64_t period_ns_;
  const pid_t process_;
  int event_ = -1;
  pthread_t thread_{};
  bool started_ = false;
  CuptiCapture* capture_ = nullptr;
  std::atomic<bool> stop_{false};
  Mutex mutex_;
  std::condition_variable changed_;
  CuptiCapture::State state_ EROICA_GUARDED_BY(mutex_) = CuptiCapture::State::kIdle;
  bool ended_ EROICA_GUARDED_BY(mutex_) = false;
};

}  // namespace eroica
