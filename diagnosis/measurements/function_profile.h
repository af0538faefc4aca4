// Which compute functions each rank runs, as sets of names: what tells the stages of a pipeline
// apart where point-to-point traffic does not.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// The most time-consuming names of the job, a bit each.
struct NameSet {
  static constexpr size_t kNames = 256;
  std::array<uint64_t, kNames / 64> words{};

  void Insert(size_t name) { words[name / 64] |= uint64_t{1} << (name % 64); }
  bool Contains(size_t name) const { return (words[name / 64] >> (name % 64) & 1) != 0; }
  bool empty() const { return *this == NameSet{}; }
  friend bool operator==(const NameSet&, const NameSet&) = default;
  friend auto operator<=>(const NameSet&, const NameSet&) = default;
};

// |a and b|, |a without b|.
int CommonNames(const NameSet& a, const NameSet& b);
int NamesWithout(const NameSet& a, const NameSet& b);

// Per rank the GPU kernels (CPU operators on a rank without a device) that it runs, of those that
// take 1 % of the window or more on the ranks that run them. Rows are let through from 0.5 % on, so
// that a function near the limit is there on all ranks or on none.
std::vector<NameSet> FunctionProfiles(std::span<const RankView> ranks,
                                      std::span<const FunctionColumn> functions);

}  // namespace eroica
