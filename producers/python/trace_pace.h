// How many calls of a full trace are kept: at most some 10,000 a second, whatever the script does.
// Where there are more, the shortest are left out; their time is their caller's. So the ring and
// the way out of the process carry what a capture window brings, and have room for other events.
//
// Pure: takes the time as an argument. Owner: the training thread.
#pragma once

#include <cstdint>

namespace eroica {

class TracePace {
 public:
  static constexpr int64_t kPeriodNs = 50'000'000;
  static constexpr uint32_t kMostPerPeriod = 500;
  // Where the ring has less room than this, only calls from kLongNs on are kept.
  static constexpr uint32_t kLeastRoom = 4'096;
  static constexpr int64_t kLongNs = 10'000'000;

  // Of a call that has ended; room: of the thread's ring, in intervals. Calls come in the order of
  // their ends.
  bool Keeps(int64_t start_ns, int64_t end_ns, uint32_t room);

  // No shorter call is kept at this moment.
  int64_t shortest_ns() const { return shortest_ns_; }

 private:
  static constexpr int64_t kFirstShortestNs = 1'000;

  int64_t shortest_ns_ = 0;
  int64_t period_begin_ns_ = 0;
  uint32_t kept_ = 0;  // in the period, since shortest_ns_ was raised
};

}  // namespace eroica
