// Duration histograms of many functions while they are being filled: an update is two loads and an
// increment, whatever the distribution. A function takes one page of counters for each octave in
// which it has durations; pages are recycled. The end of a window turns them into
// DurationHistograms.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schemas/duration_histogram.h"

namespace eroica {

class OctaveHistograms {
 public:
  // Indices given to Add are smaller than functions from here on.
  void Resize(size_t functions) {
    if (pages_of_.size() < functions) pages_of_.resize(functions, PageTable{});
  }
  void Add(uint32_t function, uint64_t ns) {
    const uint16_t bucket = DurationHistogram::BucketOf(ns);
    uint32_t& page = pages_of_[function][bucket >> DurationHistogram::kSubBucketBits];
    if (page == kNoPage) page = TakePage();
    ++counts_[page][bucket & (DurationHistogram::kSubBuckets - 1)];
  }
  void Read(uint32_t function, DurationHistogram* out) const;
  void Forget(uint32_t function) { pages_of_[function].fill(kNoPage); }
  // After every function that was added to has been forgotten.
  void Recycle() { used_pages_ = 1; }

 private:
  static constexpr uint32_t kNoPage = 0;
  static constexpr size_t kOctaves =
      DurationHistogram::kBucketCount / DurationHistogram::kSubBuckets;
  using PageTable = std::array<uint32_t, kOctaves>;
  using Page = std::array<uint32_t, DurationHistogram::kSubBuckets>;

  uint32_t TakePage();

  std::vector<PageTable> pages_of_;
  std::vector<Page> counts_;  // page 0 stays unused
  uint32_t used_pages_ = 1;
};

}  // namespace eroica
