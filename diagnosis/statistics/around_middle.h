// The middle of very many values, exact, without partitioning all of them: a sample tells between
// which two values it lies, and one pass keeps what lies between them. (Floyd and Rivest, Expected
// time bounds for selection, CACM 18, 1975.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace eroica {

template <typename T>
class AroundMiddle {
 public:
  explicit AroundMiddle(std::span<T> values) : values_(values), middle_(values.size() / 2) {
    Narrow(values);
  }
  // Leaves the values as they are: copies all of them where one pass keeps too many.
  explicit AroundMiddle(std::span<const T> values) : middle_(values.size() / 2) {
    if (Narrow(values)) return;
    kept_ = std::make_unique_for_overwrite<T[]>(values.size());
    std::ranges::copy(values, kept_.get());
    values_ = std::span<T>(kept_.get(), values.size());
  }
  AroundMiddle(const AroundMiddle&) = delete;
  AroundMiddle& operator=(const AroundMiddle&) = delete;

  // In any order, to be reordered: some of all values, one value on each side of the middle among
  // them, where there is one.
  std::span<T> values() const { return values_; }
  // Position in the sorted values() of what stands at size / 2 of all, sorted.
  std::ptrdiff_t middle() const { return static_cast<std::ptrdiff_t>(middle_); }

 private:
  static constexpr size_t kMany = 2'048;  // of fewer all are as fast
  static constexpr size_t kMostSampled = 2'048;
  static constexpr size_t kBlock = 1'024;

  // Whether values_ are some of the values now.
  bool Narrow(std::span<const T> values) {
    if (values.size() < kMany) return false;
    const auto [low, high] = Bracket(values);
    if (low == high) return NarrowTo(low, values);
    const size_t most = values.size() / 2;  // to keep more would save nothing
    kept_ = std::make_unique_for_overwrite<T[]>(most + kBlock);
    size_t kept = 0;
    size_t below = 0;
    for (size_t first = 0; first < values.size(); first += kBlock) {
      for (const T value : values.subspan(first, std::min(kBlock, values.size() - first))) {
        kept_[kept] = value;  // no branch: whether it stays is seen by the next
        kept += static_cast<size_t>(low <= value) & static_cast<size_t>(value <= high);
        below += static_cast<size_t>(value < low);
      }
      if (kept > most) return false;
    }
    if (middle_ < below + 1 || middle_ + 1 >= below + kept) return false;
    values_ = std::span<T>(kept_.get(), kept);
    middle_ -= below;
    return true;
  }

  // Many have one value: it may be that of the middle and of what stands beside it.
  bool NarrowTo(T tie, std::span<const T> values) {
    size_t below = 0;
    size_t tied = 0;
    for (const T value : values) {
      below += static_cast<size_t>(value < tie);
      tied += static_cast<size_t>(value == tie);
    }
    if (middle_ < below + 1 || middle_ + 1 >= below + tied) return false;
    kept_ = std::make_unique<T[]>(3);
    std::fill_n(kept_.get(), 3, tie);
    values_ = std::span<T>(kept_.get(), 3);
    middle_ = 1;
    return true;
  }

  // The sample's middle is off by half a root of its size (one standard deviation); three of these
  // on each side.
  static std::pair<T, T> Bracket(std::span<const T> values) {
    const size_t size = std::min(kMostSampled, values.size() / 16);
    std::vector<T> sample(size);
    for (size_t i = 0; i < size; ++i) sample[i] = values[i * values.size() / size];
    const auto reach = static_cast<std::ptrdiff_t>(1.5 * std::sqrt(static_cast<double>(size)));
    const auto low = sample.begin() + static_cast<std::ptrdiff_t>(size / 2) - reach;
    const auto high = low + 2 * reach;
    std::nth_element(sample.begin(), low, sample.end());
    std::nth_element(low + 1, high, sample.end());
    return {*low, *high};
  }

  std::span<T> values_;
  size_t middle_;
  std::unique_ptr<T[]> kept_;
};

}  // namespace eroica
