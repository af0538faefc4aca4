// Version 3 of NCCL's profiler ABI (NCCL 2.26). init is told nothing of the communicator: its hash
// and name ride in the operations. A kernel channel brings no timer, and no state when it stops.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "producers/nccl/abi_types.h"

namespace eroica::nccl {

struct EventV3 {
  struct Coll {
    const char* comm_name;
    uint64_t comm_hash;
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
  };
  struct P2p {
    const char* comm_name;
    uint64_t comm_hash;
    const char* func;
    void* buffer;
    const char* datatype;
    size_t count;
    int peer;
  };
  struct ProxyOp {
    pid_t pid;
    uint8_t channel;
    int peer;
    int steps;
    int chunk_size;
    int is_send;
  };
  struct ProxyStep {
    int step;
  };
  struct KernelCh {
    uint8_t channel;
  };
  struct NetPlugin {
    int64_t id;
    void* data;
  };

  uint8_t type;
  void* parent;
  int rank;
  union {
    Coll coll;
    P2p p2p;
    ProxyOp proxy_op;
    ProxyStep proxy_step;
    KernelCh kernel_ch;
    NetPlugin net_plugin;
  };
};
static_assert(offsetof(EventV3, parent) == 8 && offsetof(EventV3, rank) == 16);
static_assert(offsetof(EventV3, coll) == 24 && sizeof(EventV3) == 120);
static_assert(offsetof(EventV3, coll.count) == 72 && offsetof(EventV3, coll.datatype) == 88);
static_assert(offsetof(EventV3, coll.channels) == 96 && offsetof(EventV3, coll.protocol) == 112);
static_assert(offsetof(EventV3, p2p.datatype) == 56 && offsetof(EventV3, p2p.peer) == 72);
static_assert(offsetof(EventV3, proxy_op.is_send) == 44);

union StateArgsV3 {
  struct {
    size_t size;
    int steps;
  } proxy_op;
  struct {
    int appended;
  } proxy_ctrl;
};
static_assert(sizeof(StateArgsV3) == 16);

struct ProfilerV3 {
  const char* name;
  AbiResult (*init)(void** context, int* mask);
  AbiResult (*start_event)(void* context, void** handle, EventV3* event);
  AbiResult (*stop_event)(void* handle);
  AbiResult (*record_event_state)(void* handle, int state, StateArgsV3* args);
  AbiResult (*finalize)(void* context);
};
static_assert(sizeof(ProfilerV3) == 48);

}  // namespace eroica::nccl
