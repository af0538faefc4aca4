#include "diagnosis/differential/order_statistics.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "schemas/check.h"

namespace eroica {
namespace {

constexpr int32_t kLowest = std::numeric_limits<int32_t>::min();
constexpr int32_t kHighest = std::numeric_limits<int32_t>::max();

// Floats compare like their bits, but negative ones from the other end. The mapping is its own
// inverse.
int32_t Reordered(int32_t bits) { return bits ^ ((bits >> 31) & kHighest); }

[[gnu::always_inline]] inline size_t CountUpTo(std::span<const int32_t> keys, int32_t limit) {
  int32_t count = 0;
  for (const int32_t key : keys) count += key <= limit ? 1 : 0;
  return static_cast<size_t>(count);
}

[[gnu::always_inline]] inline int32_t LargestUpTo(std::span<const int32_t> keys, int32_t limit) {
  int32_t largest = kLowest;
  for (const int32_t key : keys) largest = std::max(largest, key <= limit ? key : kLowest);
  return largest;
}

[[gnu::always_inline]] inline int32_t SmallestFrom(std::span<const int32_t> keys, int32_t limit) {
  int32_t smallest = kHighest;
  for (const int32_t key : keys) smallest = std::min(smallest, key >= limit ? key : kHighest);
  return smallest;
}

// Stops as soon as the limit parts the values just below or just above the one that is asked for.
[[gnu::always_inline]] inline int32_t NthSmallestKey(std::span<const int32_t> keys, size_t n) {
  int64_t low = SmallestFrom(keys, kLowest);
  int64_t high = LargestUpTo(keys, kHighest);
  while (low < high) {
    const auto middle = static_cast<int32_t>(low + (high - low) / 2);
    const size_t count = CountUpTo(keys, middle);
    if (count == n + 1) return LargestUpTo(keys, middle);
    if (count == n) return SmallestFrom(keys, middle + 1);
    if (count > n) {
      high = middle;
    } else {
      low = int64_t{middle} + 1;
    }
  }
  return static_cast<int32_t>(low);
}

int32_t PortableNthSmallestKey(std::span<const int32_t> keys, size_t n) {
  return NthSmallestKey(keys, n);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] int32_t Avx2NthSmallestKey(std::span<const int32_t> keys, size_t n) {
  return NthSmallestKey(keys, n);
}
#endif

}  // namespace

OrderStatistics::OrderStatistics(std::span<const float> values) : keys_(values.size()) {
  for (size_t i = 0; i < values.size(); ++i)
    keys_[i] = Reordered(std::bit_cast<int32_t>(values[i]));
}

float OrderStatistics::NthSmallest(size_t n, [[maybe_unused]] InstructionSet instructions) const {
  EROICA_CHECK(n < keys_.size());
#if defined(__x86_64__)
  if (instructions >= InstructionSet::kAvx2)
    return std::bit_cast<float>(Reordered(Avx2NthSmallestKey(keys_, n)));
#endif
  return std::bit_cast<float>(Reordered(PortableNthSmallestKey(keys_, n)));
}

double OrderStatistics::Median() const {
  if (keys_.empty()) return 0;
  const size_t middle = keys_.size() / 2;
  const auto upper = static_cast<double>(NthSmallest(middle));
  if (keys_.size() % 2 == 1) return upper;
  return (static_cast<double>(NthSmallest(middle - 1)) + upper) / 2;
}

}  // namespace eroica
