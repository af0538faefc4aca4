// Signals as findings name them.
#pragma once

#include <cstdint>
#include <string>

namespace eroica {

std::string SignalText(int32_t number);  // "SIGTERM"; "signal 40" where it has no name

}  // namespace eroica
