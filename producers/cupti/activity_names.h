// What device work is called: word for word as PyTorch's profiler (Kineto) writes it, and so as the
// importer reads it, because a function is the same function on a live rank and in an imported
// trace only if its name is. Pure; allocates.
#pragma once

#include <cstdint>
#include <string>

#include "producers/cupti/activity_record.h"

namespace eroica {

// Demangled; as it is where it is no mangled name or, as in Kineto, longer than 1,024 characters.
std::string KernelName(const char* symbol);
// "Memcpy HtoD (Pinned -> Device)"
std::string MemcpyName(uint8_t copy_kind, uint16_t source_memory, uint16_t target_memory);
// "Memset (Device)"
std::string MemsetName(uint16_t memory);
// The runtime call that waited, "cudaStreamSynchronize"; nullptr where the host did not wait.
const char* WaitName(SynchronizationType type);

// From these numbers on all kinds are called the same.
inline constexpr uint8_t kCopyKinds = 12;
inline constexpr uint8_t kMemoryKinds = 9;

}  // namespace eroica
