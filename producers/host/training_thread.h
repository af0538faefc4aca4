// What the training thread got of the processors: the share of time in which it ran, and as
// intervals on its lane the time in which it was runnable and waited for one. From the kernel's own
// account (schedstat, nanoseconds), so a rank whose core is shared with a busy neighbour shows it
// as a function that its peers do not run. Owner: the thread that samples. Times: eroica_now_ns.
//
// The kernel says how long it waited since the last reading, and not when: the wait is spread over
// that time (spread_share.h). It adds a wait when that ends, so one that is longer than the time
// since the last reading reaches back beyond it. None reaches into the one before; what does not
// fit is added to the next, in bounds. Time that a hypervisor takes away is no wait to this kernel.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "producers/host/kept_file.h"

namespace eroica {

struct TrainingThreadOptions {
  std::string proc_root = "/proc";
  int thread = 0;  // as gettid() says
  // Shorter waits are kept until they add up to this: no event for a microsecond.
  int64_t least_wait_ns = 100'000;
};

struct ThreadTimes {
  uint64_t on_processor_ns = 0;
  uint64_t waited_ns = 0;
};
// The text of /proc/PID/task/TID/schedstat.
std::optional<ThreadTimes> ParseSchedstat(std::string_view text);

class TrainingThread {
 public:
  explicit TrainingThread(TrainingThreadOptions options);
  // Reads, and reports what was added since the last reading.
  void Read(int64_t now_ns);
  // Whether the thread has ended.
  bool ended() const { return gone_; }

  // Over the last whole second: time that it waited; its share.
  int64_t wait_of_last_second_ns() const { return last_second_.wait_ns; }
  double wait_share_of_last_second() const;
  // Who uses the processors that it waits for, told beside its waits on a lane of its own; empty:
  // nobody in particular.
  void NameCompetitor(std::string_view name);

 private:
  // A share of time whose counter lags behind: what does not fit below 1 is carried on, in bounds.
  struct Share {
    int64_t owed_ns = 0;
    float Take(int64_t used_ns, int64_t length_ns);
  };
  struct Stretch {
    int64_t begin_ns = 0;
    int64_t length_ns = 0;
    int64_t wait_ns = 0;
  };
  void Report(uint64_t ran_ns, uint64_t waited_ns, int64_t now_ns);
  void ReportWait(int64_t now_ns);
  uint32_t FunctionOf(std::string_view competitor);

  TrainingThreadOptions options_;
  KeptFile file_;
  std::array<char, 256> text_;
  std::optional<ThreadTimes> before_;
  bool gone_ = false;  // never opened again: another thread may get its number
  int64_t read_ns_ = 0;
  int64_t reported_until_ns_ = 0;  // no interval begins before
  int64_t unreported_ns_ = 0;      // waited
  Share ran_;
  Share waited_;
  Stretch second_;
  Stretch last_second_;
  std::vector<std::pair<std::string, uint32_t>> functions_;
  std::string competitor_;
};

}  // namespace eroica
