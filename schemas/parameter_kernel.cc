#include "schemas/parameter_kernel.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace eroica {

bool WorksOnParameters(std::string_view kernel) {
  static constexpr std::array<std::string_view, 9> kParts = {
      "multi_tensor_apply", "adam",    "optimizer", "sgd", "adagrad",
      "adafactor",          "rmsprop", "lambstage", "muon"};
  std::string lower(kernel);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(kParts.begin(), kParts.end(), [&lower](std::string_view part) {
    return lower.find(part) != std::string::npos;
  });
}

}  // namespace eroica
