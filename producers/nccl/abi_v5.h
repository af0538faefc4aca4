// Version 5 of NCCL's profiler ABI (NCCL 2.28): 64 bits of type, events of the API calls above the
// operations, the communicator's id as init's second argument.
#pragma once

#include <cstddef>
#include <cstdint>

#include "producers/nccl/abi_types.h"
#include "producers/nccl/abi_v4.h"

namespace eroica::nccl {

struct EventV5 {
  struct GroupApi {
    bool graph_captured;
    int depth;
  };
  struct CollApi {
    const char* func;
    size_t count;
    const char* datatype;
    int root;
    void* stream;
    bool graph_captured;
  };
  struct P2pApi {
    const char* func;
    size_t count;
    const char* datatype;
    void* stream;
    bool graph_captured;
  };
  struct KernelLaunch {
    void* stream;
  };
  struct Coll {
    uint64_t sequence;
    const char* func;
    const void* send_buffer;
    void* recv_buffer;
    size_t count;
    int root;
    const char* datatype;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
    void* parent_group;
  };
  struct P2p {
    const char* func;
    void* buffer;
    const char* datatype;
    size_t count;
    int peer;
    uint8_t channels;
    void* parent_group;
  };

  uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollApi coll_api;
    P2pApi p2p_api;
    KernelLaunch kernel_launch;
    Coll coll;
    P2p p2p;
    EventV4::ProxyOp proxy_op;
    EventV4::ProxyStep proxy_step;
    EventV4::KernelCh kernel_ch;
    EventV4::NetPlugin net_plugin;
  };
};
static_assert(offsetof(EventV5, parent) == 8 && offsetof(EventV5, rank) == 16);
static_assert(offsetof(EventV5, coll) == 24 && sizeof(EventV5) == 112);
static_assert(offsetof(EventV5, coll.count) == 56 && offsetof(EventV5, coll.datatype) == 72);
static_assert(offsetof(EventV5, coll.channels) == 80 &&
              offsetof(EventV5, coll.parent_group) == 104);
static_assert(offsetof(EventV5, p2p.channels) == 60 && offsetof(EventV5, p2p.parent_group) == 64);
static_assert(offsetof(EventV5, coll_api.stream) == 56 && offsetof(EventV5, p2p_api.stream) == 48);

struct ProfilerV5 {
  const char* name;
  AbiResult (*init)(void** context, uint64_t comm_id, int* mask, const char* comm_name, int nodes,
                    int ranks, int rank, AbiLogFunction log);
  AbiResult (*start_event)(void* context, void** handle, EventV5* event);
  AbiResult (*stop_event)(void* handle);
  AbiResult (*record_event_state)(void* handle, int state, StateArgsV4* args);
  AbiResult (*finalize)(void* context);
};
static_assert(sizeof(ProfilerV5) == 48);

}  // namespace eroica::nccl
