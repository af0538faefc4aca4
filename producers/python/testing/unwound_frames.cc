// Frames of a library that is injected into a process, with what has a destructor on them, below
// which the host's code runs: it may throw an exception of the host's through them, or end the
// thread.
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

namespace {

std::atomic<int> destroyed{0};
std::atomic<long> rounds{0};

struct CountsItsEnd {
  ~CountsItsEnd() { ++destroyed; }
};

}  // namespace

extern "C" {

// How many of the frames below have been left, by whatever way.
int eroica_test_frames_left() { return destroyed.load(); }
// How often a thread has had the GIL.
long eroica_test_gil_rounds() { return rounds.load(); }

void eroica_test_call(void (*host)(void*), void* context) {
  const CountsItsEnd counts;
  std::vector<std::string> held(3, std::string(100, 'x'));
  host(context);
  held.clear();
}

// As GilHolder::Find: asks for the GIL with strings on the stack, again and again, until the
// interpreter ends: to ask one that has ended is an error of the asker's.
void eroica_test_hold_gil(int (*ensure)(), void (*release)(int), int (*is_finalizing)()) {
  const CountsItsEnd counts;
  while (is_finalizing() == 0) {
    const std::vector<std::string> held(3, std::string(100, 'x'));
    const int gil = ensure();
    rounds += static_cast<long>(held.size() / 3);
    release(gil);
  }
  for (;;) ::pause();
}

}  // extern "C"
