// What the plugin takes, from the environment, once. Anything that is not a number in its range
// counts as not given: the plugin says nothing inside a training process.
#pragma once

#include <cstdint>

namespace eroica::nccl {

struct NcclOptions {
  // EROICA_NCCL_KERNEL_CHANNELS=0: collectives are seen when they are enqueued only.
  bool kernel_channels = true;
  // EROICA_NCCL_PROXY_OPS=N: the network's part of about one operation in N; 0: of none.
  uint32_t proxy_sampling = 0;
};

NcclOptions NcclOptionsFromEnvironment();  // [setup]

}  // namespace eroica::nccl
