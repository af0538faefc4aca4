#include "diagnosis/report/signal_text.h"

#include <fmt/format.h>

#include <cstring>

namespace eroica {

std::string SignalText(int32_t number) {
  const char* const name = ::sigabbrev_np(number);
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
}

}  // namespace eroica
