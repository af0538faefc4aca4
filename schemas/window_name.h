// What people and programs call a window of a job: "steps-12", "time-3". Pure functions, any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/window.h"

namespace eroica {

struct NamedWindow {
  WindowKind kind = WindowKind::kSteps;
  int64_t index = 0;  // not negative
  friend bool operator==(const NamedWindow&, const NamedWindow&) = default;
};

std::string WindowName(WindowKind kind, int64_t index);
// Nothing where it is none.
std::optional<NamedWindow> ParseWindowName(std::string_view name);

}  // namespace eroica
