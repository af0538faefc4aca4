#include "ops/cli/stop_signal.h"

#include <csignal>

namespace eroica {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

extern "C" void RememberStop(int) { stop_requested = 1; }

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

bool StopRequested() { return stop_requested != 0; }

}  // namespace eroica
