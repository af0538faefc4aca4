#include "schemas/duration_histogram.h"

#include <algorithm>
#include <limits>

namespace eroica {
namespace {

uint32_t SaturatingAdd(uint32_t a, uint32_t b) {
  const uint64_t sum = uint64_t{a} + b;
  return static_cast<uint32_t>(std::min<uint64_t>(sum, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

void DurationHistogram::Add(uint64_t ns, uint32_t count) { AddBucket(BucketOf(ns), count); }

void DurationHistogram::AddBucket(uint16_t bucket, uint32_t count) {
  if (count == 0) return;
  auto it =
      std::lower_bound(buckets_.begin(), buckets_.end(), bucket,
                       [](const auto& entry, uint16_t wanted) { return entry.first < wanted; });
  if (it != buckets_.end() && it->first == bucket) {
    it->second = SaturatingAdd(it->second, count);
  } else {
    buckets_.insert(it, {bucket, count});
  }
}

void DurationHistogram::Merge(const DurationHistogram& other) {
  for (const auto& [bucket, count] : other.buckets_) AddBucket(bucket, count);
}

uint64_t DurationHistogram::count() const {
  uint64_t sum = 0;
  for (const auto& entry : buckets_) sum += entry.second;
  return sum;
}

uint64_t DurationHistogram::Quantile(double q) const {
  const uint64_t total = count();
  if (total == 0) return 0;
  const auto rank = static_cast<uint64_t>(std::clamp(q, 0.0, 1.0) * static_cast<double>(total - 1));
  uint64_t seen = 0;
  for (const auto& [bucket, n] : buckets_) {
    seen += n;
    if (seen > rank) return LowerBound(bucket) + (UpperBound(bucket) - LowerBound(bucket)) / 2;
  }
  return UpperBound(buckets_.back().first);
}

}  // namespace eroica
