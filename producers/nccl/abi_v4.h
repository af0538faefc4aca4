// Version 4 of NCCL's profiler ABI (NCCL 2.27). The communicator moves from the operations to init,
// and kernel channels bring the device's timer. NCCL from 2.28 on fills version 4 without clearing
// it first, and leaves p2p.channels as it finds it: its value means nothing.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "producers/nccl/abi_types.h"

namespace eroica::nccl {

struct EventV4 {
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
  };
  struct P2p {
    const char* func;
    void* buffer;
    const char* datatype;
    size_t count;
    int peer;
    uint8_t channels;
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
    uint64_t timer;
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
static_assert(offsetof(EventV4, parent) == 8 && offsetof(EventV4, rank) == 16);
static_assert(offsetof(EventV4, coll) == 24 && sizeof(EventV4) == 104);
static_assert(offsetof(EventV4, coll.count) == 56 && offsetof(EventV4, coll.datatype) == 72);
static_assert(offsetof(EventV4, coll.channels) == 80 && offsetof(EventV4, coll.protocol) == 96);
static_assert(offsetof(EventV4, p2p.peer) == 56 && offsetof(EventV4, p2p.channels) == 60);
static_assert(offsetof(EventV4, proxy_op.is_send) == 44 &&
              offsetof(EventV4, kernel_ch.timer) == 32);

// Versions 5 to 7 pass the same.
union StateArgsV4 {
  struct {
    size_t size;
  } proxy_step;
  struct {
    int appended;
  } proxy_ctrl;
  struct {
    void* data;
  } net_plugin;
  struct {
    uint64_t timer;
  } kernel_ch;
};
static_assert(sizeof(StateArgsV4) == 8);

struct ProfilerV4 {
  const char* name;
  AbiResult (*init)(void** context, int* mask, const char* comm_name, uint64_t comm_hash, int nodes,
                    int ranks, int rank, AbiLogFunction log);
  AbiResult (*start_event)(void* context, void** handle, EventV4* event);
  AbiResult (*stop_event)(void* handle);
  AbiResult (*record_event_state)(void* handle, int state, StateArgsV4* args);
  AbiResult (*finalize)(void* context);
};
static_assert(sizeof(ProfilerV4) == 48);

}  // namespace eroica::nccl
