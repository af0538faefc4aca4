#include "stream_ops/log/log.h"

namespace eroica {

std::optional<std::string_view> FindHeader(const Headers& headers, std::string_view name) {
  for (const auto& [header_name, value] : headers) {
    if (header_name == name) return std::string_view(value);
  }
  return std::nullopt;
}

}  // namespace eroica
