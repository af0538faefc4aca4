#include "stream_ops/pattern/resource_account.h"

#include <algorithm>

namespace eroica {

Resource ResourceAccount::Choose(const FunctionTraits& traits) const {
  for (Resource resource : {traits.resource, traits.second_resource}) {
    if (resource != Resource::kNone && !SeriesOf(resource).empty()) return resource;
  }
  return Resource::kNone;
}

void ResourceAccount::Run(const SweepInput& input, std::span<const ResourceSample> samples) {
  functions_ = input.functions;
  sums_.clear();
  for (SampleSeries& series : series_) series.Clear();
  if (samples.empty()) return;
  for (const ResourceSample& sample : samples)
    series_[static_cast<size_t>(sample.resource)].Add(sample.time_ns, sample.value);
  for (SampleSeries& series : series_) series.Finish();
  sums_.resize(functions_.size());
  for (const Interval& interval : input.intervals) {
    const Resource resource = Choose(functions_[interval.function]);
    if (resource == Resource::kNone) continue;
    const ResourceUse use = SeriesOf(resource).Measure(std::max(interval.start_ns, input.start_ns),
                                                       std::min(interval.end_ns, input.end_ns));
    if (use.samples == 0) continue;
    Sums& sums = sums_[interval.function];
    sums.samples += use.samples;
    sums.length_ns += use.length_ns;
    sums.mean += use.mean * use.length_ns;
    sums.deviation += use.deviation * use.length_ns;
  }
}

FunctionResource ResourceAccount::Of(uint32_t function) const {
  FunctionResource result;
  if (sums_.empty()) return result;
  result.resource = Choose(functions_[function]);
  const Sums& sums = sums_[function];
  if (sums.samples == 0) return result;
  result.samples = sums.samples;
  result.mu = sums.mean / sums.length_ns;
  result.sigma = sums.deviation / sums.length_ns;
  return result;
}

}  // namespace eroica
