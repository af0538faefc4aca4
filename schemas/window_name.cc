#include "schemas/window_name.h"

#include <charconv>

namespace eroica {
namespace {

constexpr std::string_view kSteps = "steps-";
constexpr std::string_view kTime = "time-";

}  // namespace

std::string WindowName(WindowKind kind, int64_t index) {
  return std::string(kind == WindowKind::kSteps ? kSteps : kTime) + std::to_string(index);
}

std::optional<NamedWindow> ParseWindowName(std::string_view name) {
  NamedWindow window;
  if (name.starts_with(kTime)) window.kind = WindowKind::kTime;
  const std::string_view prefix = window.kind == WindowKind::kSteps ? kSteps : kTime;
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const char* const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data(), last, window.index);
  if (error != std::errc() || end != last || window.index < 0) return std::nullopt;
  return window;
}

}  // namespace eroica
