// Frames of a library that is injected into a process, with what has a destructor on them, below
// which the host's code runs: it may throw an exception of the host's through them, or end the
// thread.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <string>
#include <vector>

namespace {

std::atomic<int> destroyed{0};
std::atomic<long> rounds{0};
std::array<std::atomic<int>, 8> askers{};  // their thread ids
std::atomic<int> begun{0};
std::atomic<int> asking{0};
std::atomic<bool> gate_open{true};

struct CountsItsEnd {
  ~CountsItsEnd() { ++destroyed; }
};

// Counted before the gate is looked at, so that nobody asks behind a gate that was found closed.
bool TakesTurn() {
  ++asking;
  if (gate_open) return true;
  --asking;
  return false;
}

bool Sleeps(int thread_id) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread_id) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat[name_end + 2] == 'S';
}

// With the GIL held by the caller: those that ask sleep in their wait for it.
bool AllWaitForGil(int threads) {
  return asking == threads && std::all_of(askers.begin(), askers.begin() + threads, Sleeps);
}

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

// As GilHolder::Find: asks for the GIL with strings on the stack, again and again, until the gate
// is closed: to ask an interpreter that has ended is an error of the asker's.
void eroica_test_hold_gil(int (*ensure)(), void (*release)(int)) {
  const CountsItsEnd counts;
  const auto place = static_cast<size_t>(begun++);
  if (place >= askers.size()) return;
  askers[place] = gettid();
  while (TakesTurn()) {
    const std::vector<std::string> held(3, std::string(100, 'x'));
    const int gil = ensure();
    --asking;
    rounds += static_cast<long>(held.size() / 3);
    release(gil);
  }
  for (;;) ::pause();
}

// Called with the GIL held: closes the gate once so many threads sleep in their wait for the GIL.
// A thread that gets it later does not ask again. False where they do not come within a minute.
bool eroica_test_close_gate(int threads) {
  for (int i = 0; i < 60'000; ++i) {
    if (AllWaitForGil(threads)) return gate_open.exchange(false);
    ::usleep(1000);
  }
  return false;
}

}  // extern "C"
