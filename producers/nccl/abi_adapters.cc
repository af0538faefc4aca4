#include "producers/nccl/abi_adapters.h"

#include <atomic>
#include <concepts>

#include "producers/core/thrown_line.h"
#include "schemas/thread_boundary.h"

namespace eroica::nccl {
namespace {

static_assert(sizeof(void*) == sizeof(uint64_t), "a handle travels as a pointer");

std::atomic<CollectiveRecorder*> process_recorder{nullptr};

CollectiveRecorder* MakeProcessRecorder() {
  if (CollectiveRecorder* known = ProcessRecorder(); known != nullptr) return known;
  static std::atomic<bool> said{false};
  CollectiveRecorder* const made =
      AtBoundary([] { return new CollectiveRecorder(NcclOptionsFromEnvironment()); },
                 [](const Thrown& thrown) -> CollectiveRecorder* {
                   SayThrownOnce(&said, "NCCL's plugin, for at least one communicator,", thrown);
                   return nullptr;
                 });
  if (made == nullptr) return nullptr;
  CollectiveRecorder* known = nullptr;
  if (process_recorder.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return made;
  delete made;
  return known;
}

void* ToPointer(uint64_t handle) { return reinterpret_cast<void*>(handle); }
uint64_t ToHandle(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// No memory, no room: NCCL runs on with a context that means nothing, and calls come to nothing.
AbiResult InitAny(void** context, int* mask, const CommunicatorFacts& facts) {
  CollectiveRecorder* recorder = MakeProcessRecorder();
  const uint64_t handle = recorder != nullptr ? recorder->OpenCommunicator(facts, mask) : kNoHandle;
  if (context != nullptr) *context = ToPointer(handle);
  return kAbiSuccess;
}

// Whether NCCL says that none of the operation's channels reports: of a symmetric kernel's
// operations the first one has them all (version 7).
template <typename Coll>
bool HasNoChannels(const Coll& coll) {
  if constexpr (requires { coll.is_symmetric; }) return coll.is_symmetric && coll.channels == 0;
  return false;
}

// What the versions call by different names. Version 3 counts the channels that an operation might
// use, not those that it does; version 4 leaves those of point to point as they lie in memory.
OperationLaunch LaunchOf(const EventV3::Coll& coll, int rank) {
  return {.func = coll.func,
          .datatype = coll.datatype,
          .count = coll.count,
          .sequence = coll.sequence,
          .comm_id = coll.comm_hash,
          .has_comm_id = coll.comm_hash != 0,
          .comm_name = coll.comm_name,
          .rank = rank};
}
OperationLaunch LaunchOf(const EventV3::P2p& p2p, int rank) {
  return {.func = p2p.func,
          .datatype = p2p.datatype,
          .count = p2p.count,
          .point_to_point = true,
          .peer = p2p.peer,
          .comm_id = p2p.comm_hash,
          .has_comm_id = p2p.comm_hash != 0,
          .comm_name = p2p.comm_name,
          .rank = rank};
}
template <typename Coll>
OperationLaunch LaunchOf(const Coll& coll, int /*rank*/) requires requires {
  coll.sequence;
}
{
  return {.func = coll.func,
          .datatype = coll.datatype,
          .count = coll.count,
          .sequence = coll.sequence,
          .channels = coll.channels,
          .without_channels = HasNoChannels(coll)};
}
template <typename P2p>
OperationLaunch LaunchOf(const P2p& p2p, int /*rank*/) requires requires {
  p2p.peer;
}
{
  const bool filled = !std::same_as<P2p, EventV4::P2p>;
  return {.func = p2p.func,
          .datatype = p2p.datatype,
          .count = p2p.count,
          .point_to_point = true,
          .peer = p2p.peer,
          .channels = filled ? p2p.channels : 0};
}

uint64_t TimerOf(const EventV3::KernelCh&) { return 0; }
uint64_t TimerOf(const EventV4::KernelCh& kernel_ch) { return kernel_ch.timer; }

template <typename Event>
AbiResult StartEvent(void* context_pointer, void** handle, Event* event) noexcept {
  if (handle == nullptr) return kAbiSuccess;
  *handle = nullptr;
  CollectiveRecorder* recorder = ProcessRecorder();
  if (recorder == nullptr || event == nullptr) return kAbiSuccess;
  const uint64_t context = ToHandle(context_pointer);
  const uint64_t parent = ToHandle(event->parent);
  uint64_t started = kNoHandle;
  switch (static_cast<uint64_t>(event->type)) {
    case kGroupEvent: recorder->StartGroup(context); break;
    case kCollEvent:
      started = recorder->StartOperation(context, LaunchOf(event->coll, event->rank));
      break;
    case kP2pEvent:
      started = recorder->StartOperation(context, LaunchOf(event->p2p, event->rank));
      break;
    case kKernelChEvent:
      started = recorder->StartKernelChannel(parent, TimerOf(event->kernel_ch));
      break;
    case kProxyOpEvent:
      started = recorder->StartProxyOperation(context, parent,
                                              {.pid = event->proxy_op.pid,
                                               .peer = event->proxy_op.peer,
                                               .is_send = event->proxy_op.is_send != 0});
      break;
    case kProxyStepEvent: started = recorder->StartProxyStep(parent); break;
    default: break;  // parents that come with what was asked for, and what is not known
  }
  *handle = ToPointer(started);
  return kAbiSuccess;
}

AbiResult StopEvent(void* handle) noexcept {
  CollectiveRecorder* recorder = ProcessRecorder();
  if (recorder != nullptr && handle != nullptr) recorder->Stop(ToHandle(handle));
  return kAbiSuccess;
}

// Version 3 has no state that says something of a kernel channel, and none with the bytes of a
// step.
AbiResult RecordStateV3(void* /*handle*/, int /*state*/, StateArgsV3* /*args*/) noexcept {
  return kAbiSuccess;
}

AbiResult RecordState(void* handle, int state, StateArgsV4* args) noexcept {
  CollectiveRecorder* recorder = ProcessRecorder();
  if (recorder == nullptr || handle == nullptr || args == nullptr) return kAbiSuccess;
  if (state == kKernelChStop) recorder->RecordKernelStop(ToHandle(handle), args->kernel_ch.timer);
  if (state == kProxyStepSendWait) {
    recorder->RecordSendWait(ToHandle(handle), args->proxy_step.size);
  }
  return kAbiSuccess;
}

AbiResult Finalize(void* context) noexcept {
  CollectiveRecorder* recorder = ProcessRecorder();
  if (recorder != nullptr && context != nullptr) recorder->CloseCommunicator(ToHandle(context));
  return kAbiSuccess;
}

AbiResult InitV3(void** context, int* mask) noexcept { return InitAny(context, mask, {}); }

AbiResult InitV4(void** context, int* mask, const char* comm_name, uint64_t comm_hash, int nodes,
                 int ranks, int rank, AbiLogFunction /*log*/) noexcept {
  return InitAny(context, mask,
                 {.id = comm_hash,
                  .id_known = true,
                  .name = comm_name,
                  .nodes = nodes,
                  .ranks = ranks,
                  .rank = rank});
}

AbiResult InitV5(void** context, uint64_t comm_id, int* mask, const char* comm_name, int nodes,
                 int ranks, int rank, AbiLogFunction log) noexcept {
  return InitV4(context, mask, comm_name, comm_id, nodes, ranks, rank, log);
}

}  // namespace

CollectiveRecorder* ProcessRecorder() { return process_recorder.load(std::memory_order_acquire); }

void SetProcessRecorder(CollectiveRecorder* recorder) {
  process_recorder.store(recorder, std::memory_order_release);
}

ProfilerV3 MakeProfilerV3() {
  return {kProfilerName, InitV3, StartEvent<EventV3>, StopEvent, RecordStateV3, Finalize};
}
ProfilerV4 MakeProfilerV4() {
  return {kProfilerName, InitV4, StartEvent<EventV4>, StopEvent, RecordState, Finalize};
}
ProfilerV5 MakeProfilerV5() {
  return {kProfilerName, InitV5, StartEvent<EventV5>, StopEvent, RecordState, Finalize};
}
ProfilerV6 MakeProfilerV6() {
  return {kProfilerName, InitV5, StartEvent<EventV6>, StopEvent, RecordState, Finalize};
}
ProfilerV7 MakeProfilerV7() {
  return {kProfilerName, InitV5, StartEvent<EventV7>, StopEvent, RecordState, Finalize};
}

}  // namespace eroica::nccl
