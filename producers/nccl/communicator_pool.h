// The communicators that NCCL has told of: who they are to the core, the order of their operations,
// their device's clock. A fixed number of slots, reused; what is in a slot is atomic, because a
// proxy thread may still hold the context of a communicator that is being finalized.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "producers/nccl/activation_mask.h"
#include "producers/nccl/device_clock.h"
#include "producers/nccl/event_handle.h"
#include "producers/nccl/index_stack.h"

namespace eroica::nccl {

// What init says of a communicator. Version 3 says nothing: all as it begins.
struct CommunicatorFacts {
  uint64_t id = 0;  // equal on all members
  bool id_known = false;
  const char* name = nullptr;  // as the user called it, mostly nothing
  int nodes = 0;               // 0: not known
  int ranks = 0;
  int rank = -1;  // within the communicator
};

// Handles of a communicator's operations by the order of their launch. Hosts run ahead of their
// devices by some kernels, and one that exchanges with all of hundreds of ranks has as many
// operations.
inline constexpr uint64_t kOrderWindow = 8'192;
using OperationOrder = std::array<std::atomic<uint64_t>, kOrderWindow>;

struct alignas(64) CommunicatorSlot {
  std::atomic<uint64_t> state{0};  // CommunicatorPool's

  std::atomic<ActivationMask*> mask{nullptr};  // of its NCCL; nullptr: not known
  std::atomic<uint64_t> id{0};
  std::atomic<bool> id_known{false};
  std::atomic<int> nodes{0}, ranks{0}, rank{-1};
  std::array<char, 128> name{};  // as init gave it; constant while open
  // Whether the core knows it: 0 no, 1 a thread is at it, 2 yes. Then what the core calls it.
  std::atomic<int> bound{0};
  std::atomic<uint16_t> core_number{UINT16_MAX};
  std::atomic<uint8_t> lane{0};

  // Launches counted from 0; a kernel's operations all start before the first of them stops.
  std::atomic<uint64_t> launched{0};
  std::atomic<int64_t> starting{0};        // started, not stopped
  std::atomic<uint64_t> plan_begin{0};     // order of the first operation of the kernel in hand
  std::atomic<uint64_t> settled{0};        // every operation of a lower order is over
  std::atomic<uint32_t> without_child{0};  // launches in a row since a child was last seen
  std::atomic<int64_t> without_child_since_ns{0};
  std::atomic<bool> silent{false};  // its operations have no children, so they end enqueued
  OperationOrder* order = nullptr;  // kept when the slot is reused
  DeviceClock clock;
};

class CommunicatorPool {
 public:
  CommunicatorPool(uint32_t size, uint16_t salt);

  // A communicator with what is known of it, and its handle; nullptr: no room. [setup]
  CommunicatorSlot* Open(const CommunicatorFacts& facts, uint64_t* handle);
  // nullptr: finalized, or never ours.
  CommunicatorSlot* Find(uint64_t handle);
  CommunicatorSlot* At(uint16_t index) { return &slots_[index]; }
  uint16_t IndexOf(const CommunicatorSlot& communicator) const;
  // Its handle is stale from here on. False: it was not open.
  bool Close(uint64_t handle);
  // Gives the slot back, after Close.
  void Free(CommunicatorSlot* communicator);

 private:
  uint32_t size_;
  uint16_t salt_;
  IndexStack free_;
  std::unique_ptr<CommunicatorSlot[]> slots_;
  std::unique_ptr<std::unique_ptr<OperationOrder>[]> orders_;
};

}  // namespace eroica::nccl
