// What the plugin makes of NCCL's events, whatever version of the ABI they came by: each collective
// and point-to-point operation becomes one eroica_collective_launched .. started .. ended, each
// sampled send of the network proxy one eroica_connection.
//
// Owner: the plugin, one a process. Threads: any; calls marked [setup] may lock and allocate
// (within the core), all others neither lock, allocate, wait nor make a system call, except that
// the first operation of a communicator that could not be told to the core at its init does that.
// Time: eroica_now_ns, and the device's timer turned into it (device_clock.h).
//
// When an operation is over. NCCL's own stop says only that it is enqueued. With kernel channels it
// is over when as many have stopped as the operation uses; where NCCL does not say how many
// (version 3, point-to-point of version 4), when it is enqueued and none is left running. Then,
// because NCCL loses channels: when an operation of a later kernel of the same communicator is over
// (kernels of one communicator run in order), or at a launch after quiet_ns without news of it. One
// whose channels never came is dropped and counted, not invented. Without kernel channels (an
// option), and on a communicator whose operations never have any, an operation ends when it is
// enqueued, under a function name of its own that says so.
//
// Invariants: every ticket that the core gave is ended or dropped once, at the latest in
// CloseCommunicator; no handle is a pointer; nothing is read behind a handle before its generation
// has been checked. Full pools drop the newest and count it as lost.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "producers/nccl/activation_mask.h"
#include "producers/nccl/child_table.h"
#include "producers/nccl/communicator_pool.h"
#include "producers/nccl/nccl_options.h"
#include "producers/nccl/operation_names.h"
#include "producers/nccl/operation_table.h"

namespace eroica::nccl {

struct RecorderLimits {
  uint32_t operations = 16'384;
  uint32_t children = 8'192;
  uint32_t communicators = 512;
  // An operation that has run and of which nothing has come for so long is over.
  int64_t quiet_ns = 2'000'000'000;
  // So many launches in so long without a single child: the communicator's operations have none.
  uint32_t silent_launches = 512;
  int64_t silent_ns = 10'000'000'000;
};

// An operation as NCCL starts it.
struct OperationLaunch {
  const char* func = nullptr;
  const char* datatype = nullptr;
  uint64_t count = 0;
  uint64_t sequence = 0;  // collectives only: per function and communicator
  bool point_to_point = false;
  int peer = -1;                  // rank within the communicator
  int channels = 0;               // that it uses; 0: not known
  bool without_channels = false;  // none of them tells of it: it ends when it is enqueued
  // Version 3 tells of the communicator here.
  uint64_t comm_id = 0;
  bool has_comm_id = false;
  const char* comm_name = nullptr;
  int rank = -1;
};

struct ProxyTransfer {
  int64_t pid = 0;  // of the process whose operation it is (PXN: perhaps another)
  int peer = -1;
  bool is_send = false;
};

// What came and what became of it. Read at any time; a moment's view.
struct RecorderStatistics {
  uint64_t launched = 0;
  uint64_t ended = 0;           // with the device's or the proxy's stretch
  uint64_t ended_enqueued = 0;  // without children
  uint64_t dropped = 0;         // given up: children that never came, finalized while it ran
  uint64_t no_room = 0;         // operations and children for which a pool was full
  uint64_t malformed = 0;       // descriptors without what they need
  uint64_t stale_handles = 0;   // that mean nothing any more; harmless
  uint64_t foreign = 0;         // proxy operations of another process
  uint64_t untimed = 0;         // kernel channels that the host had to time
  uint64_t unknown_peers = 0;   // whose global rank is not known
  uint64_t to_itself = 0;       // sends and receives of a rank with itself: left out
  uint64_t connections = 0;
};

class CollectiveRecorder {
 public:
  explicit CollectiveRecorder(const NcclOptions& options, const RecorderLimits& limits = {});

  // A communicator begins; its handle, kNoHandle where there is no room. mask: NCCL's activation
  // mask (activation_mask.h), which follows the capture until CloseCommunicator. [setup]
  uint64_t OpenCommunicator(const CommunicatorFacts& facts, int* mask);
  void CloseCommunicator(uint64_t communicator);

  // Handles for NCCL; kNoHandle: nothing is taken of it.
  void StartGroup(uint64_t communicator);
  uint64_t StartOperation(uint64_t communicator, const OperationLaunch& launch);
  uint64_t StartKernelChannel(uint64_t operation, uint64_t timer);
  uint64_t StartProxyOperation(uint64_t communicator, uint64_t operation,
                               const ProxyTransfer& transfer);
  uint64_t StartProxyStep(uint64_t proxy_operation);
  // timer: of the device.
  void RecordKernelStop(uint64_t kernel_channel, uint64_t timer);
  void RecordSendWait(uint64_t proxy_step, uint64_t bytes);
  void Stop(uint64_t handle);

  // Reports a gap: marks EROICA_CAPTURE_SUSPENDED when a mask from outside takes events away that
  // the plugin asks for, again when it takes others, and EROICA_CAPTURE_RESUMED when it takes none.
  // With a mask of 0 NCCL calls nothing, so the core's thread calls this, and no other thread may.
  void LookAtMasks();

  // Of a communicator when all is taken, and when nothing is: the one event that tells when to
  // begin.
  int ActiveMask() const;
  static int IdleMask();
  RecorderStatistics statistics() const;

 private:
  struct Counters {
    std::atomic<uint64_t> launched{0}, ended{0}, ended_enqueued{0}, dropped{0}, no_room{0},
        malformed{0}, stale_handles{0}, foreign{0}, untimed{0}, unknown_peers{0}, to_itself{0},
        connections{0};
  };
  struct FunctionPair {
    std::atomic<uint32_t> on_device{0}, enqueued{0};
  };

  static void Count(std::atomic<uint64_t>& counter) {
    counter.fetch_add(1, std::memory_order_relaxed);
  }
  void Attach();
  void RegisterFunctions();
  bool Bind(CommunicatorSlot* communicator, const OperationLaunch* launch);
  // What is taken at the moment: whether anything is, and the kinds of events that NCCL delivers.
  struct Delivery {
    bool enabled = false;
    int mask = 0;
  };
  Delivery FollowMask(CommunicatorSlot* communicator, bool at_operation);
  int WantedMask(bool enabled) const { return enabled ? ActiveMask() : IdleMask(); }
  bool Accepts(CommunicatorSlot* communicator, const OperationLaunch& launch);
  int32_t GlobalPeer(const CommunicatorSlot& communicator, int peer);
  void Enter(CommunicatorSlot* communicator, RunningOperation* operation);

  // The end of an operation.
  void Leave(RunningOperation* operation, const OperationChange& change, bool settle = true);
  void Finish(RunningOperation* operation, int children_left, bool settle);
  void GiveUp(uint64_t operation);
  void SettleBefore(CommunicatorSlot* communicator, uint64_t order, bool all);
  void SettleQuiet(CommunicatorSlot* communicator, int64_t now_ns);

  // Children. NewChild: one that is claimed; nullptr: no room, not even where NCCL forgot to stop
  // some.
  RunningChild* NewChild(HandleKind kind);
  bool IsForgotten(const RunningChild& child, int64_t now_ns);
  void NoteStart(RunningOperation* operation, const RunningChild& child);
  void NoteStop(RunningOperation* operation, const RunningChild& child, int64_t now_ns);
  void StopOperation(uint64_t operation);
  void StopKernelChannel(uint64_t kernel_channel);
  void StopProxyOperation(uint64_t proxy_operation);
  void StopProxyStep(uint64_t proxy_step);
  void SendSample(const RunningChild& child, int64_t now_ns);

  const NcclOptions options_;
  const RecorderLimits limits_;
  const int64_t pid_;
  OperationTable operations_;
  ChildTable children_;
  CommunicatorPool communicators_;
  ActivationMasks masks_;
  std::optional<int> gap_;  // the mask that the last EROICA_CAPTURE_SUSPENDED named
  std::array<FunctionPair, kOperationNameCount> functions_;
  std::once_flag functions_registered_;
  std::atomic<bool> attached_{false};
  std::atomic<uint32_t> sampled_{0};  // counts operations, for proxy_sampling
  Counters counters_;
};

}  // namespace eroica::nccl
