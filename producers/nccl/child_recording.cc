// CollectiveRecorder: kernel channels, the network proxy's operations and their steps, and what
// stops.
#include <algorithm>

#include "producers/core/producer_core.h"
#include "producers/nccl/atomic_extremum.h"
#include "producers/nccl/collective_recorder.h"
#include "schemas/drop_reason.h"

namespace eroica::nccl {
namespace {

constexpr uint64_t kMostStepBytes = uint64_t{1} << 40;  // more is no size of a network transfer

constexpr int kForgottenStep = 64;  // slots looked at when there is no room
// No kernel channel or proxy operation that will still be stopped runs so long.
constexpr int64_t kForgottenNs = 600'000'000'000;

// A step of a send is no longer with the network.
void EndTransfer(RunningChild* proxy_operation, int64_t now_ns) {
  if (proxy_operation->transfers == 0 || --proxy_operation->transfers > 0) return;
  proxy_operation->busy_ns += std::max<int64_t>(now_ns - proxy_operation->transfer_since_ns, 0);
}

}  // namespace

bool CollectiveRecorder::IsForgotten(const RunningChild& child, int64_t now_ns) {
  if (now_ns - child.start_ns > kForgottenNs) return true;
  if (child.kind == HandleKind::kProxyStep) return !children_.IsLive(child.parent);
  if (child.parent == kNoHandle) return false;
  RunningOperation* operation = operations_.Pin(child.parent);
  if (operation != nullptr) Leave(operation, {});
  return operation == nullptr;
}

RunningChild* CollectiveRecorder::NewChild(HandleKind kind) {
  RunningChild* child = children_.Allocate(kind);
  const int64_t now_ns = eroica_now_ns();
  if (child == nullptr) {
    for (int i = 0; i < kForgottenStep; ++i) {
      RunningChild* old = children_.ClaimNext();
      if (old == nullptr) continue;
      IsForgotten(*old, now_ns) ? children_.Free(old) : children_.Release(old);
    }
    child = children_.Allocate(kind);
  }
  if (child == nullptr) {
    Count(counters_.no_room);
  } else {
    child->start_ns = now_ns;
  }
  return child;
}

// With kernel channels their times are the operation's: the proxy begins before the kernel gets its
// turn on the device, and its sends are acknowledged after the kernel has ended.
void CollectiveRecorder::NoteStart(RunningOperation* operation, const RunningChild& child) {
  operation->last_news_ns.store(child.start_ns, std::memory_order_relaxed);
  const bool kernel = child.kind == HandleKind::kKernelChannel;
  if (!kernel && options_.kernel_channels) return;
  if (child.start_timer != 0) {
    LowerTo(operation->first_start_timer, static_cast<int64_t>(child.start_timer));
  } else {
    LowerTo(operation->first_start_ns, child.start_ns);
  }
  if (!operation->started.exchange(true, std::memory_order_relaxed)) {
    eroica_collective_started(operation->ticket);
  }
}

void CollectiveRecorder::NoteStop(RunningOperation* operation, const RunningChild& child,
                                  int64_t now_ns) {
  operation->last_news_ns.store(now_ns, std::memory_order_relaxed);
  if (child.kind != HandleKind::kKernelChannel) {
    if (!options_.kernel_channels) RaiseTo(operation->last_stop_ns, now_ns);
    return;
  }
  DeviceClock& clock = communicators_.At(operation->communicator)->clock;
  if (child.stop_timer >= child.start_timer && clock.Observe(child.stop_timer, now_ns)) {
    RaiseTo(operation->last_stop_timer, static_cast<int64_t>(child.stop_timer));
  } else {
    RaiseTo(operation->last_stop_ns, now_ns);
    Count(counters_.untimed);
  }
}

uint64_t CollectiveRecorder::StartKernelChannel(uint64_t handle, uint64_t timer) {
  if (!options_.kernel_channels) return kNoHandle;  // a mask from outside asks for them
  RunningOperation* operation = operations_.Pin(handle);
  if (operation == nullptr) {
    Count(counters_.stale_handles);
    return kNoHandle;
  }
  const bool room = OperationTable::ChildrenOf(*operation) < OperationTable::kMostChildren;
  RunningChild* child = room ? NewChild(HandleKind::kKernelChannel) : nullptr;
  if (child == nullptr) {
    Leave(operation, {});
    return kNoHandle;
  }
  CommunicatorSlot* communicator = communicators_.At(operation->communicator);
  child->parent = handle;
  if (communicator->clock.Observe(timer, child->start_ns)) child->start_timer = timer;
  NoteStart(operation, *child);
  communicator->without_child.store(0, std::memory_order_relaxed);
  if (communicator->silent.load(std::memory_order_relaxed)) {
    communicator->silent.store(false, std::memory_order_relaxed);
  }
  const uint64_t started = children_.HandleOf(*child);
  children_.Release(child);
  Leave(operation, {.children = 1});
  return started;
}

uint64_t CollectiveRecorder::StartProxyOperation(uint64_t context, uint64_t handle,
                                                 const ProxyTransfer& transfer) {
  if (options_.proxy_sampling == 0) return kNoHandle;  // likewise
  if (transfer.pid != pid_) {  // before anything else: context and parent are the other process'
    Count(counters_.foreign);
    return kNoHandle;
  }
  CommunicatorSlot* communicator = communicators_.Find(context);
  if (communicator == nullptr) {
    Count(counters_.stale_handles);
    return kNoHandle;
  }
  RunningChild* child = NewChild(HandleKind::kProxyOperation);
  if (child == nullptr) return kNoHandle;
  child->communicator = communicators_.IndexOf(*communicator);
  child->is_send = transfer.is_send;
  child->peer = transfer.peer;
  RunningOperation* operation = operations_.Pin(handle);
  // Without its operation, which may be over, it still tells of the connection.
  const bool room = operation != nullptr &&
                    OperationTable::ChildrenOf(*operation) < OperationTable::kMostChildren;
  if (room) {
    child->parent = handle;
    NoteStart(operation, *child);
  }
  const uint64_t started = children_.HandleOf(*child);
  children_.Release(child);
  if (operation != nullptr) Leave(operation, {.children = room ? 1 : 0});
  return started;
}

uint64_t CollectiveRecorder::StartProxyStep(uint64_t handle) {
  const EventHandle parent = EventHandle::Decode(handle);
  if (parent.kind != HandleKind::kProxyOperation) return kNoHandle;
  RunningChild* child = NewChild(HandleKind::kProxyStep);
  if (child == nullptr) return kNoHandle;
  child->parent = handle;
  const uint64_t started = children_.HandleOf(*child);
  children_.Release(child);
  return started;
}

void CollectiveRecorder::RecordKernelStop(uint64_t handle, uint64_t timer) {
  RunningChild* child = children_.Claim(handle);
  if (child == nullptr) return Count(counters_.stale_handles);
  if (child->kind == HandleKind::kKernelChannel) child->stop_timer = timer;
  children_.Release(child);
}

void CollectiveRecorder::RecordSendWait(uint64_t handle, uint64_t bytes) {
  RunningChild* step = children_.Claim(handle);
  if (step == nullptr) return Count(counters_.stale_handles);
  const bool wanted = step->kind == HandleKind::kProxyStep && !step->in_transfer;
  RunningChild* operation = wanted ? children_.Claim(step->parent) : nullptr;
  if (operation != nullptr) {
    if (operation->is_send && bytes <= kMostStepBytes) {
      step->in_transfer = true;
      operation->bytes += bytes;
      if (operation->transfers++ == 0) operation->transfer_since_ns = eroica_now_ns();
    }
    children_.Release(operation);
  }
  children_.Release(step);
}

void CollectiveRecorder::StopOperation(uint64_t handle) {
  RunningOperation* operation = operations_.Pin(handle);
  // Over before it was stopped: its kernel was quicker than the thread that launched it.
  if (operation == nullptr) return Count(counters_.stale_handles);
  const bool first = !operation->stopped.load(std::memory_order_relaxed);
  if (!first || operation->stopped.exchange(true, std::memory_order_relaxed)) {
    return Leave(operation, {});
  }
  const int64_t now_ns = eroica_now_ns();
  operation->stopped_ns.store(now_ns, std::memory_order_relaxed);
  operation->last_news_ns.store(now_ns, std::memory_order_relaxed);
  communicators_.At(operation->communicator)->starting.fetch_sub(1, std::memory_order_relaxed);
  Leave(operation, {.stopped = true});
}

void CollectiveRecorder::StopKernelChannel(uint64_t handle) {
  RunningChild* child = children_.Claim(handle);
  if (child == nullptr) return Count(counters_.stale_handles);
  RunningOperation* operation = operations_.Pin(child->parent);
  if (operation != nullptr) NoteStop(operation, *child, eroica_now_ns());
  children_.Free(child);
  if (operation != nullptr) Leave(operation, {.children = -1, .child_counts = true});
}

void CollectiveRecorder::SendSample(const RunningChild& child, int64_t now_ns) {
  if (!child.is_send || child.bytes == 0) return;
  const CommunicatorSlot& communicator = *communicators_.At(child.communicator);
  const int32_t peer = GlobalPeer(communicator, child.peer);
  if (peer < 0) return;
  const EroicaConnection connection = {
      .peer = static_cast<uint32_t>(peer),
      .resource = EROICA_NIC,
      .bytes = child.bytes,
      .busy_ns = child.busy_ns,
      .retransmits = 0,
      .channels = 1,
      .communicator = communicator.core_number.load(std::memory_order_relaxed)};
  eroica_connection(now_ns, &connection);
  Count(counters_.connections);
}

void CollectiveRecorder::StopProxyOperation(uint64_t handle) {
  RunningChild* child = children_.Claim(handle);
  if (child == nullptr) return Count(counters_.stale_handles);
  const int64_t now_ns = eroica_now_ns();
  if (child->transfers > 0) {  // steps that NCCL has not stopped
    child->transfers = 1;
    EndTransfer(child, now_ns);
  }
  SendSample(*child, now_ns);
  RunningOperation* operation = operations_.Pin(child->parent);
  if (operation != nullptr) NoteStop(operation, *child, now_ns);
  children_.Free(child);
  const bool counts = !options_.kernel_channels;
  if (operation != nullptr) Leave(operation, {.children = -1, .child_counts = counts});
}

void CollectiveRecorder::StopProxyStep(uint64_t handle) {
  RunningChild* step = children_.Claim(handle);
  if (step == nullptr) return Count(counters_.stale_handles);
  RunningChild* operation = step->in_transfer ? children_.Claim(step->parent) : nullptr;
  if (operation != nullptr) {
    EndTransfer(operation, eroica_now_ns());
    children_.Release(operation);
  }
  children_.Free(step);
}

void CollectiveRecorder::Stop(uint64_t handle) {
  switch (EventHandle::Decode(handle).kind) {
    case HandleKind::kOperation: return StopOperation(handle);
    case HandleKind::kKernelChannel: return StopKernelChannel(handle);
    case HandleKind::kProxyOperation: return StopProxyOperation(handle);
    case HandleKind::kProxyStep: return StopProxyStep(handle);
    case HandleKind::kNone:
    case HandleKind::kCommunicator: break;
  }
  Count(counters_.stale_handles);
}

}  // namespace eroica::nccl
