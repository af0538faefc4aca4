#include "producers/python/seen_functions.h"

#include <algorithm>
#include <bit>

namespace eroica {

size_t SeenFunctions::PlaceOf(int64_t length_ns) {
  const auto width = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(length_ns)));
  return std::min(width / 2, kLengths - 1);
}

void SeenFunctions::Add(int64_t length_ns, uint32_t function) {
  Newest& alike = by_length_[PlaceOf(length_ns)];
  alike.functions[alike.next] = newest_ = function;
  alike.next = (alike.next + 1) % kNewest;
  alike.count = std::min(alike.count + 1, kNewest);
}

std::vector<uint32_t> SeenFunctions::In(int64_t length_ns) const {
  const size_t place = PlaceOf(length_ns);
  const auto distance = [place](size_t i) { return i > place ? i - place : place - i; };
  const Newest* alike = nullptr;
  size_t least = kLengths;
  for (size_t i = 0; i < kLengths; ++i) {
    if (by_length_[i].count == 0 || distance(i) >= least) continue;
    alike = &by_length_[i];
    least = distance(i);
  }
  if (alike == nullptr) return {};
  std::vector<uint32_t> all(alike->functions.begin(),
                            alike->functions.begin() + static_cast<std::ptrdiff_t>(alike->count));
  std::ranges::sort(all);
  return all;
}

}  // namespace eroica
