#include "producers/nccl/nccl_options.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace eroica::nccl {
namespace {

constexpr uint32_t kMostSampling = 1'000'000;

uint32_t NumberOf(const char* variable, uint32_t most, uint32_t otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  uint32_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [read, error] = std::from_chars(text, end, value);
  return error == std::errc() && read == end && value <= most ? value : otherwise;
}

}  // namespace

NcclOptions NcclOptionsFromEnvironment() {
  return {.kernel_channels = NumberOf("EROICA_NCCL_KERNEL_CHANNELS", 1, 1) != 0,
          .proxy_sampling = NumberOf("EROICA_NCCL_PROXY_OPS", kMostSampling, 0)};
}

}  // namespace eroica::nccl
