// EROICA_CHECK(condition): a bug stops the program, in release too, with file, line and the
// condition.
// Not for bad input: see drop_reason.h.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace eroica {

// Inside a training process a bug of ours must not end the host: the core sets a handler that never
// returns on its own thread. None: the program ends.
using CheckFailedHandler = void (*)(const char* file, int line, const char* condition);
inline std::atomic<CheckFailedHandler> check_failed_handler{nullptr};

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition) {
  if (const CheckFailedHandler handler = check_failed_handler.load(); handler != nullptr)
    handler(file, line, condition);
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace eroica

#define EROICA_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::eroica::CheckFailed(__FILE__, __LINE__, #condition))
