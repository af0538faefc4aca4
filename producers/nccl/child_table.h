// The children of operations that run: kernel channels, operations of the network proxy and their
// steps. A fixed pool; whoever has claimed a child has it alone, and a claim never waits: where two
// threads come to one child at once, which NCCL does not do, the second is refused.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "producers/nccl/event_handle.h"
#include "producers/nccl/index_stack.h"

namespace eroica::nccl {

struct alignas(64) RunningChild {
  std::atomic<uint64_t> state{0};  // ChildTable's
  HandleKind kind = HandleKind::kNone;
  uint64_t parent = kNoHandle;
  uint16_t communicator = 0;  // slot
  int64_t start_ns = 0;       // when the call came
  uint64_t start_timer = 0;   // of the device; 0: it said none
  uint64_t stop_timer = 0;
  // Of the proxy: what is sent to whom.
  bool is_send = false;
  bool in_transfer = false;  // a step that is handed to the network
  int peer = -1;             // rank within the communicator
  uint32_t transfers = 0;    // steps of it in transfer
  int64_t transfer_since_ns = 0;
  uint64_t bytes = 0;
  int64_t busy_ns = 0;
};

class ChildTable {
 public:
  ChildTable(uint32_t size, uint16_t salt);

  // A child that is the caller's until Release; nullptr: no room. start_ns is the caller's to set.
  RunningChild* Allocate(HandleKind kind);
  uint64_t HandleOf(const RunningChild& child) const;
  // nullptr: stale, not ours, or another thread is at it.
  RunningChild* Claim(uint64_t handle);
  void Release(RunningChild* child);
  // Ends a claimed child: its handles are stale from here on.
  void Free(RunningChild* child);

  bool IsLive(uint64_t handle) const;
  // The next of all children in turn, claimed, for whoever looks for those that NCCL forgot to
  // stop; nullptr: nothing is in this slot, or somebody is at it.
  RunningChild* ClaimNext();

 private:
  uint32_t size_;
  uint16_t salt_;
  IndexStack free_;
  std::atomic<uint32_t> next_{0};  // slot of ClaimNext
  std::unique_ptr<RunningChild[]> slots_;
};

}  // namespace eroica::nccl
