#include "ops/dashboard/assets.h"

#include <algorithm>

namespace eroica {

const Asset* FindAsset(std::string_view path) {
  const auto assets = Assets();
  const auto found = std::ranges::lower_bound(assets, path, {}, &Asset::path);
  return found != assets.end() && found->path == path ? &*found : nullptr;
}

}  // namespace eroica
