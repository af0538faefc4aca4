#include "schemas/kernel_bound.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

namespace eroica {
namespace {

constexpr std::array<std::string_view, 9> kParameters = {
    "multi_tensor_apply", "adam",    "optimizer", "sgd", "adagrad",
    "adafactor",          "rmsprop", "lambstage", "muon"};
constexpr std::array<std::string_view, 15> kArithmetic = {
    "gemm",   "gemv",  "cutlass",  "cublas", "nvjet", "flash",     "fmha",    "attention",
    "conv2d", "wgrad", "winograd", "dgrad",  "_mma",  "triton_mm", "convolve"};
constexpr std::array<std::string_view, 24> kMemory = {
    "elementwise", "reduce",  "norm",  "softmax",    "copy",      "memset", "gather",   "scatter",
    "embedding",   "dropout", "index", "activation", "gated_act", "gelu",   "silu",     "cat_array",
    "fill",        "sort",    "rope",  "transpose",  "permute",   "cast",   "catarray", "triton_p"};

bool HoldsAny(const std::string& name, std::span<const std::string_view> parts) {
  return std::ranges::any_of(
      parts, [&name](std::string_view part) { return name.find(part) != std::string::npos; });
}

std::string InLowerCase(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

}  // namespace

KernelBound BoundOf(std::string_view kernel) {
  const std::string name = InLowerCase(kernel);
  if (HoldsAny(name, kParameters)) return KernelBound::kParameters;
  if (HoldsAny(name, kArithmetic)) return KernelBound::kArithmetic;
  return HoldsAny(name, kMemory) ? KernelBound::kMemory : KernelBound::kUnknown;
}

bool WorksOnParameters(std::string_view kernel) {
  return HoldsAny(InLowerCase(kernel), kParameters);
}

}  // namespace eroica
