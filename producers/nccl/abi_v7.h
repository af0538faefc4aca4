// Version 7 of NCCL's profiler ABI (NCCL 2.31 and 2.32): version 6, the phases of symmetric kernels
// (type kKernelPhaseEvent, state kKernelPhaseStop, with the state arguments of a kernel channel),
// and new fields behind the old ones. init is that of version 5.
//
// Forks of NCCL 2.29 and 2.30 use the symbol name of version 7 for layouts of their own, with
// further functions behind the table. The plugin offers version 7 only to an NCCL that has it:
// offered_version.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "producers/nccl/abi_types.h"
#include "producers/nccl/abi_v4.h"
#include "producers/nccl/abi_v5.h"
#include "producers/nccl/abi_v6.h"

namespace eroica::nccl {

struct EventV7 {
  struct CollApi {
    const char* func;
    size_t count;
    const char* datatype;
    int root;
    void* stream;
    bool graph_captured;
    uint64_t user_tag;
  };
  struct P2pApi {
    const char* func;
    size_t count;
    const char* datatype;
    void* stream;
    bool graph_captured;
    uint64_t user_tag;
  };
  struct Coll {
    uint64_t sequence;
    const char* func;
    const void* send_buffer;
    void* recv_buffer;
    size_t count;
    int root;
    const char* datatype;
    uint8_t channels;  // of a symmetric kernel's operations, the first one has all of them
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
    void* parent_group;
    const char* kernel_variant;  // of a symmetric kernel; else null
    bool is_symmetric;
    uint64_t user_tag;
  };
  struct P2p {
    const char* func;
    void* buffer;
    const char* datatype;
    size_t count;
    int peer;
    uint8_t channels;
    void* parent_group;
    uint64_t user_tag;
  };
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
    uint64_t user_tag;
  };
  struct KernelPhase {
    uint8_t channel;
    uint8_t phase;
    const char* name;
    uint64_t timer;
  };

  uint64_t type;
  void* parent;
  int rank;
  union {
    EventV5::GroupApi group_api;
    CollApi coll_api;
    P2pApi p2p_api;
    EventV5::KernelLaunch kernel_launch;
    Coll coll;
    P2p p2p;
    EventV4::ProxyOp proxy_op;
    EventV4::ProxyStep proxy_step;
    EventV4::KernelCh kernel_ch;
    EventV4::NetPlugin net_plugin;
    CeColl ce_coll;
    EventV6::CeSync ce_sync;
    EventV6::CeBatch ce_batch;
    KernelPhase kernel_phase;
  };
};
static_assert(offsetof(EventV7, parent) == 8 && offsetof(EventV7, rank) == 16);
static_assert(offsetof(EventV7, coll) == 24 && sizeof(EventV7) == 136);
static_assert(offsetof(EventV7, coll.count) == 56 && offsetof(EventV7, coll.channels) == 80);
static_assert(offsetof(EventV7, coll.parent_group) == 104 &&
              offsetof(EventV7, coll.kernel_variant) == 112);
static_assert(offsetof(EventV7, coll.is_symmetric) == 120 &&
              offsetof(EventV7, coll.user_tag) == 128);
static_assert(offsetof(EventV7, p2p.channels) == 60 && offsetof(EventV7, p2p.user_tag) == 72);
static_assert(offsetof(EventV7, coll_api.user_tag) == 72 &&
              offsetof(EventV7, p2p_api.user_tag) == 64);
static_assert(offsetof(EventV7, ce_coll.stream) == 104 &&
              offsetof(EventV7, ce_coll.user_tag) == 112);
static_assert(offsetof(EventV7, kernel_ch.timer) == 32 &&
              offsetof(EventV7, kernel_phase.timer) == 40);

struct ProfilerV7 {
  const char* name;
  AbiResult (*init)(void** context, uint64_t comm_id, int* mask, const char* comm_name, int nodes,
                    int ranks, int rank, AbiLogFunction log);
  AbiResult (*start_event)(void* context, void** handle, EventV7* event);
  AbiResult (*stop_event)(void* handle);
  AbiResult (*record_event_state)(void* handle, int state, StateArgsV4* args);
  AbiResult (*finalize)(void* context);
};
static_assert(sizeof(ProfilerV7) == 48);

}  // namespace eroica::nccl
