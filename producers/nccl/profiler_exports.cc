// The symbols by which NCCL finds the plugin, newest first. They are filled when the library is
// loaded, before dlopen returns. The address of ncclProfiler_v7 is what a function answers at each
// dlsym (STT_GNU_IFUNC): null where the plugin does not offer it, and then NCCL takes version 6.
#include "producers/nccl/abi_adapters.h"
#include "producers/nccl/offered_version.h"

namespace {

eroica::nccl::ProfilerV7 version_7 = eroica::nccl::MakeProfilerV7();

}  // namespace

extern "C" {

extern eroica::nccl::ProfilerV3 ncclProfiler_v3;
extern eroica::nccl::ProfilerV4 ncclProfiler_v4;
extern eroica::nccl::ProfilerV5 ncclProfiler_v5;
extern eroica::nccl::ProfilerV6 ncclProfiler_v6;

eroica::nccl::ProfilerV3 ncclProfiler_v3 = eroica::nccl::MakeProfilerV3();
eroica::nccl::ProfilerV4 ncclProfiler_v4 = eroica::nccl::MakeProfilerV4();
eroica::nccl::ProfilerV5 ncclProfiler_v5 = eroica::nccl::MakeProfilerV5();
eroica::nccl::ProfilerV6 ncclProfiler_v6 = eroica::nccl::MakeProfilerV6();

using AnyFunction = void (*)();
[[gnu::visibility("hidden")]] AnyFunction FindVersion7() {
  return eroica::nccl::OffersVersion7() ? reinterpret_cast<AnyFunction>(&version_7) : nullptr;
}
[[gnu::ifunc("FindVersion7")]] void ncclProfiler_v7();

}  // extern "C"
