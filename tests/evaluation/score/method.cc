#include "tests/evaluation/score/method.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/evaluation/baselines/baselines.h"

namespace eroica {

std::vector<Method> AllMethods() {
  std::vector<Method> methods = {
      {.name = kEroicaMethod, .about = "The whole diagnosis, as the program runs it."}};
  for (const BaselineMethod& baseline : Baselines()) {
    methods.push_back({.name = std::string(baseline.name),
                       .about = std::string(baseline.about),
                       .make = baseline.make});
  }
  return methods;
}

absl::StatusOr<std::vector<Method>> ChooseMethods(const std::vector<std::string>& names) {
  std::vector<Method> all = AllMethods();
  if (names.empty()) return all;
  for (const std::string& name : names) {
    if (std::any_of(all.begin(), all.end(),
                    [&name](const Method& method) { return method.name == name; }))
      continue;
    std::string known;
    for (const Method& method : all) known += (known.empty() ? "" : ", ") + method.name;
    return absl::InvalidArgumentError(
        fmt::format("no method is called '{}'; there are {}", name, known));
  }
  std::erase_if(all, [&names](const Method& method) {
    return std::find(names.begin(), names.end(), method.name) == names.end();
  });
  return all;
}

}  // namespace eroica
