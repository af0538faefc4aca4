// The operations that run: a fixed pool of slots, each with the count of its children, in one
// atomic word, so that the launching thread, proxy threads and a finalizing thread agree without a
// lock on the one of them that reports the end.
//
// A slot's life: Allocate (the caller owns it and fills the plain fields) -> Publish (a handle
// names it) -> any number of Pin .. Unpin, from any thread -> the Unpin after which the operation
// is over takes it out of the table and tells its caller, who alone owns the slot again -> Free.
// Between Pin and Unpin a slot cannot change hands; both are a handful of instructions and never
// wait. A handle whose generation is over, or that was never ours, pins nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "producers/nccl/index_stack.h"

namespace eroica::nccl {

inline constexpr int64_t kNoStart = INT64_MAX;
inline constexpr int64_t kNoStop = INT64_MIN;

// All that children and stops say of an operation. Cache lines of its own.
struct alignas(64) RunningOperation {
  std::atomic<uint64_t> state{0};  // OperationTable's

  // Set before Publish, constant until Free.
  uint64_t ticket = 0;
  uint64_t order = 0;       // of its launch, within its communicator
  uint64_t plan_begin = 0;  // every operation of a lower order belongs to an earlier kernel
  int64_t launched_ns = 0;
  uint64_t communicator_handle = 0;
  uint16_t communicator = 0;  // slot; another communicator's, perhaps, once that handle is stale
  uint8_t lane = 0;
  uint8_t name = 0;                // of operation_names.h
  uint16_t expected_channels = 0;  // kernel channels to come; 0: not known
  bool childless = false;          // no child can come: it ends when it is enqueued

  // As they come in.
  std::atomic<bool> stopped{false};
  std::atomic<bool> started{false};
  std::atomic<int64_t> stopped_ns{0};
  std::atomic<int64_t> last_news_ns{0};
  std::atomic<int64_t> first_start_ns{kNoStart};  // of children that the host timed
  std::atomic<int64_t> last_stop_ns{kNoStop};
  std::atomic<int64_t> first_start_timer{kNoStart};  // of children that the device timed
  std::atomic<int64_t> last_stop_timer{kNoStop};
};

// What a pinned operation learns at its Unpin.
struct OperationChange {
  int children = 0;           // that run: +1, -1
  bool child_counts = false;  // a child of the kind that tells when all have ended
  bool stopped = false;       // NCCL has stopped it: it is enqueued
  bool given_up = false;      // it ends now, whatever is missing
};

class OperationTable {
 public:
  OperationTable(uint32_t size, uint16_t salt);

  // A slot that nobody else sees, with all fields as they begin; nullptr: none is free.
  RunningOperation* Allocate();
  // From here on its handle names it, and its plain fields stay as they are.
  void Publish(RunningOperation* operation);
  // What names a slot that is allocated.
  uint64_t HandleOf(const RunningOperation& operation) const;

  RunningOperation* Pin(uint64_t handle);
  // Children that run, of a pinned operation.
  static int ChildrenOf(const RunningOperation& operation);
  static constexpr int kMostChildren = 1'023;

  enum class Left { kRuns, kOver };
  // kOver: the operation is the caller's alone, which reports it and calls Free. children_left: how
  // many of its children had not ended.
  Left Unpin(RunningOperation* operation, const OperationChange& change, int* children_left);
  void Free(RunningOperation* operation);

 private:
  uint32_t IndexOf(const RunningOperation& operation) const;

  uint32_t size_;
  uint16_t salt_;
  IndexStack free_;
  std::unique_ptr<RunningOperation[]> slots_;
};

}  // namespace eroica::nccl
