// Which kernels exchange data with other ranks and so wait for them, by their names: NCCL's and
// RCCL's, and those of libraries that use neither. A pure table; the sources of its names are
// in the implementation.
#pragma once

#include <optional>
#include <string_view>

#include "schemas/event_batch.h"

namespace eroica {

// The operation of a kernel, kUnknown where its name leaves that open: NCCL's SendRecv kernels
// carry all-to-all, gather and scatter as well as point to point. Nothing: the kernel works alone.
// name: as profilers write it, demangled or not.
std::optional<CollectiveOperation> CollectiveKernel(std::string_view name);

// Whether the kernel is NCCL's, or of a library that derives from it (RCCL, MSCCL).
bool IsNcclKernel(std::string_view name);

// The name without what differs between the calls of one function:
// "hcom_allReduce__128_4_1" -> "hcom_allReduce_". Anything else stays as it is.
std::string_view WithoutInstance(std::string_view name);

}  // namespace eroica
