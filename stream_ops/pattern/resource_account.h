// mu and sigma of every function of a window: its resource's use, averaged over its executions by
// the length of their critical execution durations (EROICA, NSDI'26, section 4.2). Owner: one
// thread; memory is kept between runs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "stream_ops/pattern/critical_path_sweep.h"
#include "stream_ops/pattern/sample_series.h"

namespace eroica {

struct FunctionResource {
  Resource resource = Resource::kNone;
  uint64_t samples = 0;  // 0: mu and sigma are unknown
  double mu = 0;
  double sigma = 0;
};

class ResourceAccount {
 public:
  // samples: of the window, by time.
  void Run(const SweepInput& input, std::span<const ResourceSample> samples);
  // Of the last run.
  FunctionResource Of(uint32_t function) const;

 private:
  struct Sums {
    uint64_t samples = 0;
    double length_ns = 0;
    double mean = 0;       // times length
    double deviation = 0;  // times length
  };
  // What to measure the function by, of what there are samples of.
  Resource Choose(const FunctionTraits& traits) const;
  const SampleSeries& SeriesOf(Resource resource) const {
    return series_[static_cast<size_t>(resource)];
  }

  std::array<SampleSeries, kResourceCount> series_;
  std::span<const FunctionTraits> functions_;
  std::vector<Sums> sums_;  // by function; empty where there were no samples
};

}  // namespace eroica
