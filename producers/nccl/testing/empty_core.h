// The C ABI of producer_core.h with nothing behind it: every call counts at most one relaxed
// atomic. For what must measure the plugin alone: its time, its allocations, its locks. Defines the
// same symbols as the core: link one of them.
#pragma once

#include <cstdint>

namespace eroica::nccl {

// Collectives that have been launched, and ended or dropped.
uint64_t EmptyCoreLaunched();
uint64_t EmptyCoreEnded();

}  // namespace eroica::nccl
