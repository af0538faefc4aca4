#include "producers/nccl/operation_names.h"

#include <array>
#include <cstddef>

#include "producers/core/producer_core.h"

namespace eroica::nccl {
namespace {

constexpr std::array<OperationName, kOperationNameCount> kNames = {{
    {"AllReduce", EROICA_ALL_REDUCE, "nccl:AllReduce", "nccl:AllReduce (enqueued)"},
    {"AllGather", EROICA_ALL_GATHER, "nccl:AllGather", "nccl:AllGather (enqueued)"},
    {"ReduceScatter", EROICA_REDUCE_SCATTER, "nccl:ReduceScatter", "nccl:ReduceScatter (enqueued)"},
    {"Broadcast", EROICA_BROADCAST, "nccl:Broadcast", "nccl:Broadcast (enqueued)"},
    {"Reduce", EROICA_REDUCE, "nccl:Reduce", "nccl:Reduce (enqueued)"},
    {"AlltoAll", EROICA_ALL_TO_ALL, "nccl:AlltoAll", "nccl:AlltoAll (enqueued)"},
    {"Gather", EROICA_GATHER, "nccl:Gather", "nccl:Gather (enqueued)"},
    {"Scatter", EROICA_SCATTER, "nccl:Scatter", "nccl:Scatter (enqueued)"},
    {"Send", EROICA_SEND, "nccl:Send", "nccl:Send (enqueued)"},
    {"Recv", EROICA_RECV, "nccl:Recv", "nccl:Recv (enqueued)"},
    {"", EROICA_UNKNOWN_OPERATION, "nccl:other", "nccl:other (enqueued)"},
}};

struct Datatype {
  std::string_view name;
  uint64_t bytes;
};

constexpr std::array<Datatype, 13> kDatatypes = {{
    {"ncclBfloat16", 2},
    {"ncclFloat16", 2},
    {"ncclFloat32", 4},
    {"ncclFloat64", 8},
    {"ncclFloat8e4m3", 1},
    {"ncclFloat8e5m2", 1},
    {"ncclInt8", 1},
    {"ncclUint8", 1},
    {"ncclInt32", 4},
    {"ncclUint32", 4},
    {"ncclInt64", 8},
    {"ncclUint64", 8},
    {"Unknown", 1},
}};

constexpr char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The whole of `text`, a C string that is read no further than it has to be.
bool Equals(std::string_view name, const char* text) {
  for (const char c : name) {
    if (Lower(*text) != Lower(c)) return false;
    ++text;
  }
  return *text == '\0';
}

}  // namespace

const OperationName& OperationNameAt(int index) {
  const bool known = index >= 0 && index < kOperationNameCount;
  return kNames[static_cast<size_t>(known ? index : kOperationNameCount - 1)];
}

int FindOperationName(const char* func) {
  if (func == nullptr) return kOperationNameCount - 1;
  for (int i = 0; i < kOperationNameCount - 1; ++i) {
    if (Equals(kNames[static_cast<size_t>(i)].nccl, func)) return i;
  }
  return kOperationNameCount - 1;
}

uint64_t BytesOfDatatype(const char* datatype) {
  if (datatype == nullptr) return 0;
  for (const Datatype& known : kDatatypes) {
    if (Equals(known.name, datatype)) return known.bytes;
  }
  return 0;
}

}  // namespace eroica::nccl
