// When a thread of this process left its processor and came back to one, as the kernel says it
// (perf_event_open(2), the records of context switches): how long each of its waits lasted,
// exactly. The kernel notes it; the thread itself does nothing. Containers and kernels may forbid
// it (seccomp, kernel.perf_event_paranoid above 2), and kernels before 4.17 do not say whether the
// thread blocked: then nothing is known.
//
// A block costs the thread 2 us more (measured: docs/PERFORMANCE.md). Where it blocks so often that
// this is more than 0.25 % of its time, it is watched in turns: for a second, and then not until
// the mean is that again.
//
// Owner: one thread, other than the watched one or that one itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace eroica {

struct ThreadSwitch {
  enum class Kind : uint8_t {
    kLost,       // what happened until then is not known: the first of each thread, and a full ring
    kBlocked,    // left its processor to wait for something
    kPreempted,  // had to leave it
    kRuns,       // has one
  };
  int64_t time_ns = 0;  // of the core's clock (eroica_now_ns)
  Kind kind = Kind::kLost;
};

class ThreadSwitches {
 public:
  // now_ns: of CLOCK_MONOTONIC, as below.
  ThreadSwitches(int thread, int64_t now_ns);
  ~ThreadSwitches();
  ThreadSwitches(const ThreadSwitches&) = delete;
  ThreadSwitches& operator=(const ThreadSwitches&) = delete;

  bool is_open() const { return ring_ != nullptr; }
  // The oldest that was not taken; nothing where there is none until then. By time.
  std::optional<ThreadSwitch> Take(int64_t until_ns);
  // Looks whether the thread is to be watched from here on; at least a few times a second.
  void KeepPace(int64_t now_ns);

 private:
  void Open();
  void Close();
  void Map();
  void ReadRing();
  uint64_t WordAt(uint64_t position) const;
  void Add(int64_t time_ns, ThreadSwitch::Kind kind);

  const int thread_;
  int64_t second_ns_;            // when the second began in which switches are counted
  uint64_t switches_ = 0;        // read since then
  int64_t opens_again_ns_ = -1;  // while it is not watched, for its cost
  int file_ = -1;
  void* ring_ = nullptr;  // perf_event_mmap_page, and behind it the records
  size_t ring_bytes_ = 0;
  std::deque<ThreadSwitch> read_;  // and not taken yet; bounded
  int64_t latest_ns_ = 0;
};

}  // namespace eroica
