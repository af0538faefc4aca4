#include "ops/cli/stop_signal.h"

#include <atomic>
#include <csignal>

namespace eroica {
namespace {

// Written by the handler on whichever thread the signal met, read by all: a sig_atomic_t would be a
// race, a lock-free atomic is none.
std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void RememberStop(int) { stop_requested.store(true, std::memory_order_relaxed); }

}  // namespace

void CatchStopSignals() {
  struct sigaction action = {};
  action.sa_handler = RememberStop;
  // After the first signal the default holds again.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool StopRequested() { return stop_requested.load(std::memory_order_relaxed); }

}  // namespace eroica
