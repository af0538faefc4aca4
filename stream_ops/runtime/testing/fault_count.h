// How often a call is still to fail, in logs that fail when a test asks for it.
#pragma once

namespace eroica::testing {

// Whether this call fails, and one fewer of the next.
inline bool TakeOne(int* count) {
  if (*count == 0) return false;
  --*count;
  return true;
}

}  // namespace eroica::testing
