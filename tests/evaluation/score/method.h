// What is scored: Eroica as it is, and the methods that it is compared with.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "diagnosis/operator.h"

namespace eroica {

struct Method {
  std::string name;
  std::string about;
  // an operator alone, window by window; none: the whole diagnosis
  std::unique_ptr<DiagnosisOperator> (*make)() = nullptr;
};

inline constexpr char kEroicaMethod[] = "eroica";

// Eroica first.
std::vector<Method> AllMethods();
// By name, in the order of AllMethods; none: all. kInvalidArgument for a name that is none, with
// those that are.
absl::StatusOr<std::vector<Method>> ChooseMethods(const std::vector<std::string>& names);

}  // namespace eroica
