// For how long of a window captures stood still, as the marks of the rank say. Pure.
#pragma once

#include <span>
#include <vector>

#include "schemas/pattern_batch.h"

namespace eroica {

// marks: of the window, by time, of any kind. A capture that stood still before the window says so
// as its first step begins. Answers by capture, only those that stood still.
std::vector<SuspendedCapture> SuspendedCapturesOf(std::span<const Mark> marks,
                                                  const Window& window);

}  // namespace eroica
