#include "schemas/event_batch.h"

namespace eroica {

std::string_view ToString(CollectiveOperation operation) {
  switch (operation) {
    case CollectiveOperation::kUnknown: return "unknown";
    case CollectiveOperation::kAllReduce: return "all_reduce";
    case CollectiveOperation::kAllGather: return "all_gather";
    case CollectiveOperation::kReduceScatter: return "reduce_scatter";
    case CollectiveOperation::kBroadcast: return "broadcast";
    case CollectiveOperation::kReduce: return "reduce";
    case CollectiveOperation::kAllToAll: return "all_to_all";
    case CollectiveOperation::kGather: return "gather";
    case CollectiveOperation::kScatter: return "scatter";
    case CollectiveOperation::kBarrier: return "barrier";
    case CollectiveOperation::kSend: return "send";
    case CollectiveOperation::kRecv: return "recv";
  }
  return "unknown";
}

std::string_view ToString(Resource resource) {
  switch (resource) {
    case Resource::kGpuSm: return "gpu_sm";
    case Resource::kGpuDram: return "gpu_dram";
    case Resource::kNvlink: return "nvlink";
    case Resource::kPcieTx: return "pcie_tx";
    case Resource::kNic: return "nic";
    case Resource::kCpu: return "cpu";
    case Resource::kCpuWait: return "cpu_wait";
    case Resource::kCpuSteal: return "cpu_steal";
    case Resource::kMemory: return "memory";
    case Resource::kMemoryPressure: return "memory_pressure";
    case Resource::kDisk: return "disk";
    case Resource::kHostNic: return "host_nic";
    case Resource::kHostCpu: return "host_cpu";
    case Resource::kGpuClock: return "gpu_clock";
    case Resource::kGpuThrottled: return "gpu_throttled";
    case Resource::kGpuOthers: return "gpu_others";
    case Resource::kGpuErrors: return "gpu_errors";
    case Resource::kStacks: return "stacks";
    case Resource::kNone: return "none";
  }
  return "unknown";
}

}  // namespace eroica
