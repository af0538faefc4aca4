// The one thread that the core adds to a process: opens the transport, drains, samples the host,
// sends. It blocks all signals, runs more often while rings fill quickly, and stops for good when
// something of ours is broken: the host goes on.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <string>

#include "producers/core/core_state.h"
#include "producers/core/emitter.h"
#include "producers/core/producer_config.h"
#include "producers/core/transport.h"
#include "schemas/boundary_thread.h"
#include "schemas/mutex.h"

namespace eroica {

class EmitterThread {
 public:
  // give_up: called once, on the emitter's thread, with the reason, when nothing can be sent at
  // all, or when a library has thrown.
  // complain: called once, likewise, when a batch was lost.
  // hands_over: asked as often as periodic is called; true: another process is the rank from here
  // on. What is there is sent, then handed_over is called, and the thread ends.
  // periodic: called about every 5 to 500 ms on the emitter's thread with the time.
  struct Parts {
    CoreState* state = nullptr;
    ProducerConfig config;
    EmitterOptions emitter;
    std::function<void(int64_t now_ns)> periodic;
    std::function<bool()> hands_over;
    std::function<void()> handed_over;
    std::function<void(const std::string& reason)> give_up;
    std::function<void(const std::string& reason)> complain;
  };
  explicit EmitterThread(Parts parts);

  // kResourceExhausted: the process can have no further thread.
  absl::Status Start();
  // The last batch is sent and the transport closed; false: not within the timeout, and the thread
  // is left to itself. Any thread, once.
  bool Stop(std::chrono::milliseconds timeout);
  // The thread has sent what there was and needs nothing any more. Any thread.
  bool HasEnded();

 private:
  void Run();
  void Emit();
  void Loop(Emitter& emitter, Transport& transport);
  // Sleeps; true: it shall stop.
  bool WaitFor(std::chrono::milliseconds tick);
  // What Stop allows for sending the rest.
  std::chrono::milliseconds CloseTimeout();
  void NoteCost(const Transport& transport);

  Parts parts_;
  BoundaryThread thread_;
  Mutex mutex_;
  std::condition_variable changed_;
  bool stop_ EROICA_GUARDED_BY(mutex_) = false;
  bool finished_ EROICA_GUARDED_BY(mutex_) = false;
  std::chrono::milliseconds close_timeout_ EROICA_GUARDED_BY(mutex_){0};
};

}  // namespace eroica
