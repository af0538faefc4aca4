// How often stacks are sampled: as often as is asked for where that costs next to nothing, and less
// often where it would not. What a sample costs depends on the machine: some 10 us on a processor
// of its own, 50 us and a rank's turn where ranks share processors and caches are cold. So the
// sampler counts what it uses and keeps to a share of what the training thread uses; a thread that
// waits is sampled least. Samples come irregularly: at equal distances they would meet every
// training step of that length, or a multiple of it, at the same place. Owner: one thread.
#pragma once

#include <cstdint>

namespace eroica {

class SamplingPace {
 public:
  static constexpr double kShare = 0.0025;  // of the training thread's processor time
  static constexpr int64_t kLongestPeriodNs = 100'000'000;

  // period_ns: what is asked for; kept where it is longer than the longest.
  explicit SamplingPace(int64_t period_ns) : shortest_ns_(period_ns), period_ns_(period_ns) {}

  // At a sample: what the sampler's thread and the training thread have used so far.
  void Tick(int64_t now_ns, int64_t own_cpu_ns, int64_t training_cpu_ns);

  int64_t period_ns() const { return period_ns_; }
  // How long until the next sample: half a period to one and a half, and one on average. Each time
  // another part of it, by the golden ratio: no part of a step is left out for long.
  int64_t NextNs();

 private:
  struct Second {
    int64_t begin_ns = 0;
    int64_t own_cpu_ns = 0;  // used until its begin
    int64_t training_cpu_ns = 0;
    int samples = 0;
  };

  const int64_t shortest_ns_;
  int64_t period_ns_;
  Second second_;
  uint32_t turn_ = 0;  // of 2^32
};

}  // namespace eroica
