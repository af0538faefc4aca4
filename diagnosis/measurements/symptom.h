// What a rank shows because another one is late: never a cause, so operators that look for causes
// leave it out.
#pragma once

#include "schemas/pattern_batch.h"

namespace eroica {

// Time in collectives and in functions that only wait for peers is the communication's, wherever it
// shows.
inline bool IsSymptom(const FunctionPattern& pattern) {
  return pattern.wait == WaitKind::kPeer || pattern.function_class == FunctionClass::kCollective;
}

}  // namespace eroica
