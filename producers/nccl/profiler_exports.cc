// The symbols by which NCCL finds the plugin, newest first. No ncclProfiler_v7: see abi_v6.h. They
// are filled when the library is loaded, before dlopen returns.
#include "producers/nccl/abi_adapters.h"

extern "C" {

extern eroica::nccl::ProfilerV3 ncclProfiler_v3;
extern eroica::nccl::ProfilerV4 ncclProfiler_v4;
extern eroica::nccl::ProfilerV5 ncclProfiler_v5;
extern eroica::nccl::ProfilerV6 ncclProfiler_v6;

eroica::nccl::ProfilerV3 ncclProfiler_v3 = eroica::nccl::MakeProfilerV3();
eroica::nccl::ProfilerV4 ncclProfiler_v4 = eroica::nccl::MakeProfilerV4();
eroica::nccl::ProfilerV5 ncclProfiler_v5 = eroica::nccl::MakeProfilerV5();
eroica::nccl::ProfilerV6 ncclProfiler_v6 = eroica::nccl::MakeProfilerV6();

}  // extern "C"
