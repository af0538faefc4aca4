// What the names and categories of a PyTorch trace mean: class, kind of wait, collective operation.
// Pure tables; names as decoded text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/event_batch.h"
#include "schemas/function.h"

namespace eroica {

// The categories ("cat") that Kineto writes, as far as they differ for us.
enum class TraceCategory : uint8_t {
  kKernel,
  kGpuMemory,  // gpu_memcpy, gpu_memset
  kCpuOp,
  kRuntime,  // cuda_runtime, cuda_driver and their ROCm and XPU kin
  kPython,
  kAnnotation,  // user_annotation
  kUnwanted,    // spans of the profiler itself, copies of annotations on the device's time line
  kUnknown,     // none, or one that the event's process must explain (process_kinds.h)
};
TraceCategory ParseCategory(std::string_view category);

// "nccl:all_reduce", "gloo:recv", "nccl:_all_gather_base", "c10d::allreduce_",
// "_reduce_scatter_base_", "allreduce"; kUnknown where it is none.
CollectiveOperation OperationOfName(std::string_view name);
// "nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "gloo:recv".
CollectiveLibrary LibraryOfName(std::string_view name);

// Whether a host function only waits, and for what. Sleeping is no wait: it is what the function
// that sleeps wanted to do.
WaitKind WaitOfRuntimeCall(std::string_view name);
WaitKind WaitOfOperator(std::string_view name);
WaitKind WaitOfAnnotation(std::string_view name);

// "train.py(220): main" -> "train.py: main". Anything else stays as it is.
std::string StripLine(std::string_view name);
// The other end, within its group, of "nccl:send 0->1" or "nccl:recv 1<-0", or -1.
int32_t PeerOfAnnotation(std::string_view name);
// N of "ProfilerStep#N", or -1.
int64_t StepOfAnnotation(std::string_view name);

// Bytes of one element: "float", "long int", "c10::BFloat16", "Float" ...; 0 where unknown.
uint64_t BytesOfType(std::string_view type);

}  // namespace eroica
