// How the process of a rank ended, as its launcher's host could see it.
#pragma once

#include <cstdint>

namespace eroica {

struct ProcessEnd {
  int32_t exit_code = -1;      // 0 to 255; -1: it ended by a signal, or how is not known
  int32_t signal = 0;          // that ended it; 0: none, or how is not known
  int64_t started_ns = 0;      // when the process attached; 0: not known
  bool out_of_memory = false;  // the kernel ended a process of its control group for memory then

  bool is_known() const { return exit_code >= 0 || signal > 0; }
  // By itself and with success.
  bool is_orderly() const { return exit_code == 0; }
  friend bool operator==(const ProcessEnd&, const ProcessEnd&) = default;
};
inline constexpr int32_t kHighestExitCode = 255;
inline constexpr int32_t kHighestSignal = 64;

}  // namespace eroica
