#include "diagnosis/report/duration_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace eroica {
namespace {

std::string ThreeDigits(double value, const char* unit) {
  const double size = std::abs(value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, unit);
}

}  // namespace

std::string DurationText(double ns) {
  const double size = std::abs(ns);
  if (size < 0.5) return "0";
  if (size < 999.5) return fmt::format("{:.0f} ns", ns);
  if (size < 999.5e3) return ThreeDigits(ns / 1e3, "us");
  if (size < 999.5e6) return ThreeDigits(ns / 1e6, "ms");
  return ThreeDigits(ns / 1e9, "s");
}

std::string SpeedText(double bytes_per_ns) { return BytesText(bytes_per_ns * 1e9) + "/s"; }

std::string BytesText(double bytes) {
  const double size = std::abs(bytes);
  if (size >= 999.5e6) return fmt::format("{:.3g} GB", bytes / 1e9);
  if (size >= 999.5e3) return fmt::format("{:.3g} MB", bytes / 1e6);
  if (size >= 999.5) return fmt::format("{:.3g} kB", bytes / 1e3);
  return fmt::format("{:.3g} bytes", bytes);
}

std::string PercentText(double share) {
  const double percent = share * 100;
  return fmt::format("{:.{}f} %", percent, std::abs(percent) < 9.95 ? 1 : 0);
}

}  // namespace eroica
