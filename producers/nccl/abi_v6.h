// Version 6 of NCCL's profiler ABI (NCCL 2.29 and 2.30): version 5 and the collectives of the copy
// engines, which the plugin does not ask for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "producers/nccl/abi_types.h"
#include "producers/nccl/abi_v4.h"
#include "producers/nccl/abi_v5.h"

namespace eroica::nccl {

struct EventV6 {
  struct CeColl {
    uint64_t sequence;
    const char* func;
    const void* send_buffer;
    void* recv_buffer;
    size_t count;
    int root;
    const char* datatype;
    const char* sync_strategy;
    bool intra_batch_sync;
    uint32_t batch_size;
    uint32_t batches;
    uint32_t ce_sequence;
    void* stream;
  };
  struct CeSync {
    bool is_complete;
    int ranks;
  };
  struct CeBatch {
    int operations;
    size_t bytes;
    bool intra_sync;
  };

  uint64_t type;
  void* parent;
  int rank;
  union {
    EventV5::GroupApi group_api;
    EventV5::CollApi coll_api;
    EventV5::P2pApi p2p_api;
    EventV5::KernelLaunch kernel_launch;
    EventV5::Coll coll;
    EventV5::P2p p2p;
    EventV4::ProxyOp proxy_op;
    EventV4::ProxyStep proxy_step;
    EventV4::KernelCh kernel_ch;
    EventV4::NetPlugin net_plugin;
    CeColl ce_coll;
    CeSync ce_sync;
    CeBatch ce_batch;
  };
};
static_assert(offsetof(EventV6, parent) == 8 && offsetof(EventV6, rank) == 16);
static_assert(offsetof(EventV6, coll) == 24 && sizeof(EventV6) == 112);
static_assert(offsetof(EventV6, coll.count) == 56 && offsetof(EventV6, coll.parent_group) == 104);
static_assert(offsetof(EventV6, p2p.channels) == 60 && offsetof(EventV6, kernel_ch.timer) == 32);
static_assert(offsetof(EventV6, ce_coll.batch_size) == 92 &&
              offsetof(EventV6, ce_coll.stream) == 104);
static_assert(offsetof(EventV6, ce_batch.bytes) == 32);

struct ProfilerV6 {
  const char* name;
  AbiResult (*init)(void** context, uint64_t comm_id, int* mask, const char* comm_name, int nodes,
                    int ranks, int rank, AbiLogFunction log);
  AbiResult (*start_event)(void* context, void** handle, EventV6* event);
  AbiResult (*stop_event)(void* handle);
  AbiResult (*record_event_state)(void* handle, int state, StateArgsV4* args);
  AbiResult (*finalize)(void* context);
};
static_assert(sizeof(ProfilerV6) == 48);

}  // namespace eroica::nccl
