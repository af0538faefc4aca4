// NCCL names its functions and data types with strings of its own library. What they mean to
// Eroica: the operation, the name of the function that is reported, the bytes of an element. Pure;
// a few comparisons a call, nothing is kept of what is passed.
#pragma once

#include <cstdint>
#include <string_view>

namespace eroica::nccl {

struct OperationName {
  std::string_view nccl;  // as in the descriptor, e.g. "AllReduce"
  int operation;          // EROICA_ALL_REDUCE
  // As Eroica reports it: the stretch on the device, and the stretch in which it was only enqueued.
  const char* function;
  const char* enqueued_function;
};

inline constexpr int kOperationNameCount = 11;
// The last stands for everything that is not named.
const OperationName& OperationNameAt(int index);
// Index of a name; capitals do not matter. Of an unknown one, the last.
int FindOperationName(const char* func);

// Bytes of an element; 0 of a name that is not known. NCCL has no name for its unsigned byte: it
// says "Unknown".
uint64_t BytesOfDatatype(const char* datatype);

}  // namespace eroica::nccl
