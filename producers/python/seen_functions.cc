#include "producers/python/seen_functions.h"

#include <algorithm>

namespace eroica {

std::vector<uint32_t> SeenFunctions::All() const {
  std::vector<uint32_t> all(functions_.begin(),
                            functions_.begin() + static_cast<std::ptrdiff_t>(count_));
  std::ranges::sort(all);
  return all;
}

}  // namespace eroica
