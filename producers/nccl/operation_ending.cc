// CollectiveRecorder: how operations end, each reported once.
#include <algorithm>

#include "producers/core/producer_core.h"
#include "producers/nccl/collective_recorder.h"
#include "schemas/drop_reason.h"

namespace eroica::nccl {
namespace {

// A kernel may run before NCCL says that it has launched it, by as much as the launching thread was
// held up.
constexpr int64_t kEarliestStartNs = 1'000'000'000;
// Operations looked at after one has ended. More come with the next.
constexpr uint64_t kSettleStep = 64;

struct Stretch {
  int64_t start_ns = kNoStart;
  int64_t end_ns = kNoStop;
  bool complete() const { return start_ns != kNoStart && end_ns != kNoStop; }
};

// From the first child's start to the last one's stop; what the device timed by one offset of the
// clocks, so that its length is the device's.
Stretch StretchOf(const RunningOperation& operation, const DeviceClock& clock, int64_t now_ns) {
  Stretch stretch = {operation.first_start_ns.load(std::memory_order_relaxed),
                     operation.last_stop_ns.load(std::memory_order_relaxed)};
  const int64_t start_timer = operation.first_start_timer.load(std::memory_order_relaxed);
  const int64_t stop_timer = operation.last_stop_timer.load(std::memory_order_relaxed);
  const int64_t offset_ns = clock.ToHost(0);
  if (start_timer != kNoStart) {
    stretch.start_ns = std::min(stretch.start_ns, start_timer + offset_ns);
  }
  if (stop_timer != kNoStop) stretch.end_ns = std::max(stretch.end_ns, stop_timer + offset_ns);
  if (!stretch.complete()) return stretch;
  stretch.end_ns = std::min(stretch.end_ns, now_ns);
  stretch.start_ns = std::max(stretch.start_ns, operation.launched_ns - kEarliestStartNs);
  stretch.start_ns = std::min(stretch.start_ns, stretch.end_ns);
  return stretch;
}

}  // namespace

void CollectiveRecorder::Leave(RunningOperation* operation, const OperationChange& change,
                               bool settle) {
  int children_left = 0;
  if (operations_.Unpin(operation, change, &children_left) == OperationTable::Left::kOver) {
    Finish(operation, children_left, settle);
  }
}

void CollectiveRecorder::Finish(RunningOperation* operation, int children_left, bool settle) {
  CommunicatorSlot* communicator = communicators_.At(operation->communicator);
  const Stretch stretch = StretchOf(*operation, communicator->clock, eroica_now_ns());
  const FunctionPair& function = functions_[operation->name];
  const bool ran = children_left == 0 && stretch.complete();
  const bool stopped = operation->stopped.load(std::memory_order_relaxed);
  // A thread that held the operation while its communicator was finalized must not count it, nor
  // settle anything, in the communicator that has been given the slot since.
  const bool open = communicators_.Find(operation->communicator_handle) != nullptr;
  if (!stopped && open) communicator->starting.fetch_sub(1, std::memory_order_relaxed);
  if (ran) {
    eroica_collective_ended(operation->ticket, stretch.start_ns, stretch.end_ns,
                            function.on_device.load(std::memory_order_relaxed), operation->lane);
    Count(counters_.ended);
  } else if (operation->childless && stopped && children_left == 0) {
    eroica_collective_ended(operation->ticket, operation->launched_ns,
                            operation->stopped_ns.load(std::memory_order_relaxed),
                            function.enqueued.load(std::memory_order_relaxed), operation->lane);
    Count(counters_.ended_enqueued);
  } else {
    eroica_collective_dropped(operation->ticket);
    eroica_lost(EROICA_LOST_COLLECTIVE, static_cast<uint8_t>(DropReason::kTruncatedInput), 1);
    Count(counters_.dropped);
  }
  const uint64_t plan_begin = operation->plan_begin;
  operations_.Free(operation);
  if (ran && settle && open) SettleBefore(communicator, plan_begin, false);
}

void CollectiveRecorder::GiveUp(uint64_t handle) {
  RunningOperation* operation = operations_.Pin(handle);
  if (operation != nullptr) Leave(operation, {.given_up = true}, false);
}

// An operation of a later kernel is over: those before it are, too, even where their last channels
// did not show. Not those with a channel that NCCL has yet to stop.
void CollectiveRecorder::SettleBefore(CommunicatorSlot* communicator, uint64_t order, bool all) {
  const uint64_t settled = communicator->settled.load(std::memory_order_relaxed);
  const uint64_t end = all ? order : std::min(order, settled + kSettleStep);
  // What fell out of the window was given up then.
  uint64_t head = std::max(settled, end - std::min(end, kOrderWindow));
  for (uint64_t i = head; i < end; ++i) {
    const uint64_t handle =
        (*communicator->order)[i % kOrderWindow].load(std::memory_order_relaxed);
    RunningOperation* operation = operations_.Pin(handle);
    bool over = operation == nullptr;
    if (operation != nullptr) {
      over = operation->order != i || all || OperationTable::ChildrenOf(*operation) == 0;
      Leave(operation, {.given_up = over && operation->order == i}, false);
    }
    if (over && head == i) head = i + 1;
  }
  uint64_t known = settled;
  while (known < head &&
         !communicator->settled.compare_exchange_weak(known, head, std::memory_order_relaxed)) {
  }
}

void CollectiveRecorder::SettleQuiet(CommunicatorSlot* communicator, int64_t now_ns) {
  const uint64_t oldest = communicator->settled.load(std::memory_order_relaxed);
  if (oldest >= communicator->launched.load(std::memory_order_relaxed)) return;
  RunningOperation* operation = operations_.Pin(
      (*communicator->order)[oldest % kOrderWindow].load(std::memory_order_relaxed));
  if (operation == nullptr) {
    uint64_t known = oldest;
    communicator->settled.compare_exchange_strong(known, oldest + 1, std::memory_order_relaxed);
    return;
  }
  const bool ran = operation->started.load(std::memory_order_relaxed) &&
                   operation->stopped.load(std::memory_order_relaxed) &&
                   OperationTable::ChildrenOf(*operation) == 0;
  const int64_t news_ns = operation->last_news_ns.load(std::memory_order_relaxed);
  Leave(operation, {.given_up = ran && now_ns - news_ns > limits_.quiet_ns}, false);
}

}  // namespace eroica::nccl
