// One resource's samples on one rank in one window, and what an execution made of it: mean and
// standard deviation over its *critical execution duration* (EROICA, NSDI'26, algorithm 1), the
// shortest part of the execution with the fewest idle moments that holds 80 % of the resource's
// use. A rank that entered a collective early idles inside it; the critical execution duration
// leaves that out, so the true transfer rate shows.
//
// Samples are counted in whole steps of 1/65535, so that sums are exact. Where the paper is silent:
// - idle is below 1 % (counters rarely read exactly 0);
// - no use at all: the whole execution, at 0;
// - an execution between two samples takes the next one, which stands for the time since the last,
// if that is not further off than two periods.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace eroica {

struct ResourceUse {
  double mean = 0;       // 0 .. 1
  double deviation = 0;  // population standard deviation
  double length_ns = 0;  // of the critical execution duration; 0: nothing known
  uint64_t samples = 0;  // inside it
};

class SampleSeries {
 public:
  void Clear();
  // By time.
  void Add(int64_t time_ns, float share);
  // After the last Add.
  void Finish();
  bool empty() const { return times_.empty(); }
  ResourceUse Measure(int64_t begin_ns, int64_t end_ns) const;

 private:
  // Samples [first, last).
  struct Range {
    size_t first;
    size_t last;
  };
  struct IdleRun {
    size_t first;
    size_t length;
  };
  Range CriticalPart(Range range) const;
  bool HoldsEnough(Range range, size_t idle_max, Range* part) const;
  ResourceUse Describe(Range part, double length_ns) const;
  uint64_t Sum(Range range) const { return sum_[range.last] - sum_[range.first]; }

  std::vector<int64_t> times_;
  std::vector<uint64_t> sum_;  // of the samples before i, in steps
  std::vector<uint64_t> square_sum_;
  std::vector<uint32_t> idle_before_;  // idle runs that begin before sample i
  std::vector<IdleRun> idle_runs_;     // maximal, ascending
  int64_t period_ns_ = 0;              // median distance of two samples
};

}  // namespace eroica
