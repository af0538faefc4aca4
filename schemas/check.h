// EROICA_CHECK(condition): a bug stops the program, in release too, with file, line and the condition.
// Not for bad input: see drop_reason.h.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace eroica {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace eroica

#define EROICA_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::eroica::CheckFailed(__FILE__, __LINE__, #condition))
