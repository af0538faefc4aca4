// How many changes a fuzz target and its driver have made to their inputs. One thread.
#pragma once

#include <cstdint>

namespace eroica {

inline uint64_t mutations_made = 0;

}  // namespace eroica
