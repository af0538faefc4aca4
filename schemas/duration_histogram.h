// Log-linear histogram of durations in nanoseconds: 32 buckets an octave, so a relative error of at
// most 1/32. Merging adds counts and is exact, commutative and associative. (HdrHistogram's and
// Prometheus' native layout; FACTS: 1.5 ns an update, no logarithm.)
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace eroica {

class DurationHistogram {
 public:
  static constexpr int kSubBucketBits = 5;
  static constexpr int kSubBuckets = 1 << kSubBucketBits;
  // indices fit 16 bits
  static constexpr int kBucketCount = (64 - kSubBucketBits + 1) * kSubBuckets;

  // Values below 32 have a bucket each. Negative durations do not exist here.
  static constexpr uint16_t BucketOf(uint64_t ns) {
    if (ns < kSubBuckets) return static_cast<uint16_t>(ns);
    const int exponent = 63 - std::countl_zero(ns);
    const int shift = exponent - kSubBucketBits;
    return static_cast<uint16_t>(((shift + 1) << kSubBucketBits) +
                                 static_cast<int>((ns >> shift) & (kSubBuckets - 1)));
  }
  static constexpr uint64_t LowerBound(uint16_t bucket) {
    if (bucket < kSubBuckets) return bucket;
    const int shift = (bucket >> kSubBucketBits) - 1;
    return (uint64_t{kSubBuckets} + (bucket & (kSubBuckets - 1))) << shift;
  }
  static constexpr uint64_t UpperBound(uint16_t bucket) {  // exclusive
    if (bucket < kSubBuckets) return bucket + uint64_t{1};
    return LowerBound(bucket) + (uint64_t{1} << ((bucket >> kSubBucketBits) - 1));
  }

  void Add(uint64_t ns, uint32_t count = 1);
  void AddBucket(uint16_t bucket, uint32_t count);
  void Merge(const DurationHistogram& other);
  void clear() { buckets_.clear(); }

  uint64_t count() const;
  bool empty() const { return buckets_.empty(); }
  // The q-quantile, 0 <= q <= 1, as the middle of its bucket; 0 when empty.
  uint64_t Quantile(double q) const;
  // (bucket, count), ascending by bucket, no zero counts.
  const std::vector<std::pair<uint16_t, uint32_t>>& buckets() const { return buckets_; }

  friend bool operator==(const DurationHistogram&, const DurationHistogram&) = default;

 private:
  std::vector<std::pair<uint16_t, uint32_t>> buckets_;  // sparse; counts saturate
};

}  // namespace eroica
