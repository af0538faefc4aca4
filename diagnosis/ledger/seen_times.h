// Event times of findings, of which 0 is one that nobody knows: findings of before there were any.
#pragma once

#include <algorithm>
#include <cstdint>

namespace eroica {

inline int64_t EarlierKnown(int64_t a_ns, int64_t b_ns) {
  return a_ns == 0 || b_ns == 0 ? std::max(a_ns, b_ns) : std::min(a_ns, b_ns);
}

}  // namespace eroica
