#include "producers/python/seen_functions.h"

#include <algorithm>
#include <bit>

namespace eroica {

size_t SeenFunctions::PlaceOf(int64_t length_ns) {
  const auto width = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(length_ns)));
  return std::min(width / 2, kLengths - 1);
}

void SeenFunctions::Add(int64_t length_ns, uint32_t function) {
  Newest& samples = by_length_[PlaceOf(length_ns)];
  samples.functions[samples.next] = newest_ = function;
  samples.next = (samples.next + 1) % kNewest;
  samples.count = std::min(samples.count + 1, kNewest);
}

std::vector<uint32_t> SeenFunctions::In(int64_t length_ns) const {
  const size_t place = PlaceOf(length_ns);
  const auto distance = [place](size_t i) { return i > place ? i - place : place - i; };
  const Newest* nearest = nullptr;
  size_t least = kLengths;
  for (size_t i = 0; i < kLengths; ++i) {
    if (by_length_[i].count == 0 || distance(i) >= least) continue;
    nearest = &by_length_[i];
    least = distance(i);
  }
  if (nearest == nullptr) return {};
  std::vector<uint32_t> all(
      nearest->functions.begin(),
      nearest->functions.begin() + static_cast<std::ptrdiff_t>(nearest->count));
  std::ranges::sort(all);
  return all;
}

}  // namespace eroica
