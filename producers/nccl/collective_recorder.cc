// Communicators, launches and the activation mask. The end of operations: operation_ending.cc; what
// runs below them: child_recording.cc.
#include "producers/nccl/collective_recorder.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "producers/core/producer_core.h"
#include "producers/nccl/abi_types.h"
#include "schemas/capture_gap.h"
#include "schemas/drop_reason.h"

namespace eroica::nccl {
namespace {

constexpr int kMostLanes = 64;     // of the core's 255
constexpr int kMostChannels = 64;  // that NCCL has; what says more is no number of channels

uint16_t SaltOf(int64_t pid) {
  return static_cast<uint16_t>((static_cast<uint64_t>(pid) * 0x9E3779B97F4A7C15) >> 52);
}

// NCCL delivers a parent where its child is asked for.
int DeliveredBy(int mask) {
  const auto kinds = static_cast<uint64_t>(static_cast<uint32_t>(mask));
  constexpr uint64_t kBelow = kProxyOpEvent | kProxyStepEvent | kKernelChEvent | kNetPluginEvent;
  return static_cast<int>((kinds & kBelow) != 0 ? kinds | kCollEvent | kP2pEvent : kinds);
}

uint64_t BytesOf(const OperationLaunch& launch) {
  const uint64_t element = BytesOfDatatype(launch.datatype);
  uint64_t bytes = 0;
  return __builtin_mul_overflow(launch.count, element, &bytes) ? UINT64_MAX : bytes;
}

}  // namespace

CollectiveRecorder::CollectiveRecorder(const NcclOptions& options, const RecorderLimits& limits)
    : options_(options),
      limits_(limits),
      pid_(getpid()),
      operations_(limits.operations, SaltOf(pid_)),
      children_(limits.children, SaltOf(pid_)),
      communicators_(limits.communicators, SaltOf(pid_)) {}

int CollectiveRecorder::ActiveMask() const {
  return static_cast<int>(kCollEvent | kP2pEvent | (options_.kernel_channels ? kKernelChEvent : 0));
}

// A mask of 0 would be for ever: nothing would come that could tell that capture is on again.
int CollectiveRecorder::IdleMask() { return static_cast<int>(kGroupEvent); }

void CollectiveRecorder::Attach() {
  if (attached_.load(std::memory_order_acquire)) return;
  const EroicaAttachOptions options = {
      .component = "nccl", .rank = -1, .world_size = -1, .role = nullptr, .device = -1};
  if (!eroica_attach(&options) || attached_.exchange(true, std::memory_order_acq_rel)) return;
  eroica_watch([](void* self) { static_cast<CollectiveRecorder*>(self)->LookAtMasks(); }, this);
}

// By the first communicator; the others wait for it, or they would lose what they launch meanwhile.
void CollectiveRecorder::RegisterFunctions() {
  std::call_once(functions_registered_, [this] {
    for (int i = 0; i < kOperationNameCount; ++i) {
      const OperationName& name = OperationNameAt(i);
      const auto number = [](const char* function) {
        return eroica_function(function, EROICA_COLLECTIVE, EROICA_WAIT_PEER, EROICA_NO_PARENT);
      };
      functions_[static_cast<size_t>(i)].on_device = number(name.function);
      functions_[static_cast<size_t>(i)].enqueued = number(name.enqueued_function);
    }
  });
}

bool CollectiveRecorder::Bind(CommunicatorSlot* communicator, const OperationLaunch* launch) {
  int bound = 0;
  if (!communicator->bound.compare_exchange_strong(bound, 1)) return bound == 2;
  const char* name = communicator->name.data();
  if (!communicator->id_known && launch != nullptr && launch->has_comm_id) {
    communicator->id = launch->comm_id;
    communicator->rank = launch->rank;
    communicator->id_known = true;
  }
  if (launch != nullptr && launch->comm_name != nullptr) name = launch->comm_name;
  if (!communicator->id_known) {
    communicator->bound = 0;
    return false;
  }
  RegisterFunctions();
  const int ranks = std::max(communicator->ranks.load(), 0);
  communicator->core_number = eroica_communicator_over(EROICA_NCCL, communicator->id, name, "",
                                                       static_cast<uint32_t>(ranks), nullptr);
  std::array<char, 32> lane{};
  std::snprintf(lane.data(), lane.size(), "nccl communicator %d",
                communicators_.IndexOf(*communicator) % kMostLanes);
  communicator->lane = eroica_lane(lane.data(), EROICA_DEVICE_STREAM);
  communicator->bound.store(2, std::memory_order_release);
  return true;
}

uint64_t CollectiveRecorder::OpenCommunicator(const CommunicatorFacts& facts, int* mask) {
  Attach();
  uint64_t handle = kNoHandle;
  CommunicatorSlot* communicator = communicators_.Open(facts, &handle);
  if (communicator == nullptr) {
    Count(counters_.no_room);
    return kNoHandle;
  }
  for (std::atomic<uint64_t>& operation : *communicator->order)
    GiveUp(operation.exchange(kNoHandle));
  communicator->starting = 0;
  const bool enabled = eroica_enabled();
  if (enabled) Bind(communicator, nullptr);
  communicator->mask = masks_.Join(mask, WantedMask(enabled));
  return handle;
}

void CollectiveRecorder::CloseCommunicator(uint64_t handle) {
  CommunicatorSlot* communicator = communicators_.Find(handle);
  if (communicator == nullptr || !communicators_.Close(handle)) {
    Count(counters_.stale_handles);
    return;
  }
  for (std::atomic<uint64_t>& operation : *communicator->order)
    GiveUp(operation.exchange(kNoHandle));
  ActivationMasks::Leave(communicator->mask.exchange(nullptr));
  communicators_.Free(communicator);
}

// NCCL reads its mask for every operation, with an atomic load.
CollectiveRecorder::Delivery CollectiveRecorder::FollowMask(CommunicatorSlot* communicator,
                                                            bool at_operation) {
  const bool enabled = eroica_enabled();
  int wanted = WantedMask(enabled);
  ActivationMask* const mask = communicator->mask.load(std::memory_order_relaxed);
  if (mask == nullptr) return {.enabled = enabled, .mask = wanted};
  if (enabled && options_.proxy_sampling > 0) {
    // The network's part is asked for with the operations that are enqueued until the next launch.
    constexpr int kProxy = static_cast<int>(kProxyOpEvent | kProxyStepEvent);
    if (!at_operation) {
      wanted |= mask->Now() & kProxy;
    } else if (eroica_capture_level() > 0 &&
               sampled_.fetch_add(1, std::memory_order_relaxed) % options_.proxy_sampling == 0) {
      wanted |= kProxy;
    }
  }
  return {.enabled = enabled, .mask = mask->Follow(wanted)};
}

void CollectiveRecorder::LookAtMasks() {
  std::optional<int> gap = eroica_enabled() ? masks_.FromOutside() : std::nullopt;
  // What it adds is no gap.
  if (gap && (DeliveredBy(*gap) & ActiveMask()) == ActiveMask()) gap = std::nullopt;
  if (gap == gap_) return;
  const int mark = gap ? EROICA_CAPTURE_SUSPENDED : EROICA_CAPTURE_RESUMED;
  const CaptureGap said = {.capture = CaptureKind::kCollectives,
                           .detail = static_cast<uint32_t>(gap.value_or(0))};
  eroica_mark(eroica_now_ns(), mark, said.mark_id());
  gap_ = gap;
}

void CollectiveRecorder::StartGroup(uint64_t handle) {
  CommunicatorSlot* communicator = communicators_.Find(handle);
  if (communicator == nullptr) return Count(counters_.stale_handles);
  FollowMask(communicator, false);
}

bool CollectiveRecorder::Accepts(CommunicatorSlot* communicator, const OperationLaunch& launch) {
  const bool bound = communicator->bound.load(std::memory_order_acquire) == 2;
  if (launch.func != nullptr && (bound || Bind(communicator, &launch))) return true;
  Count(counters_.malformed);
  eroica_lost(EROICA_LOST_COLLECTIVE, static_cast<uint8_t>(DropReason::kMalformedEvent), 1);
  return false;
}

// Known on a communicator of the whole world on which this process has the rank that it has in the
// job: it is taken that the others do, too.
int32_t CollectiveRecorder::GlobalPeer(const CommunicatorSlot& communicator, int peer) {
  const int ranks = communicator.ranks.load(std::memory_order_relaxed);
  const bool world = ranks > 0 && ranks == eroica_world_size() &&
                     communicator.rank.load(std::memory_order_relaxed) == eroica_rank();
  if (world && peer >= 0 && peer < ranks) return peer;
  Count(counters_.unknown_peers);
  return -1;
}

// The operation takes its place in the order of launches.
void CollectiveRecorder::Enter(CommunicatorSlot* communicator, RunningOperation* operation) {
  operation->order = communicator->launched.fetch_add(1, std::memory_order_relaxed);
  if (communicator->starting.fetch_add(1, std::memory_order_relaxed) <= 0) {
    communicator->plan_begin.store(operation->order, std::memory_order_relaxed);
  }
  operation->plan_begin = communicator->plan_begin.load(std::memory_order_relaxed);
  std::atomic<uint64_t>& place = (*communicator->order)[operation->order % kOrderWindow];
  const uint64_t before = place.exchange(operations_.HandleOf(*operation));
  if (before != kNoHandle) GiveUp(before);
  const uint32_t in_a_row = communicator->without_child.fetch_add(1, std::memory_order_relaxed) + 1;
  if (in_a_row == 1) communicator->without_child_since_ns = operation->launched_ns;
  if (in_a_row < limits_.silent_launches || operation->childless) return;
  if (operation->launched_ns - communicator->without_child_since_ns < limits_.silent_ns) return;
  communicator->silent.store(true, std::memory_order_relaxed);
  SettleBefore(communicator, operation->order, true);
}

uint64_t CollectiveRecorder::StartOperation(uint64_t handle, const OperationLaunch& launch) {
  CommunicatorSlot* communicator = communicators_.Find(handle);
  if (communicator == nullptr) {
    Count(counters_.stale_handles);
    return kNoHandle;
  }
  const Delivery delivery = FollowMask(communicator, true);
  if (!delivery.enabled || !Accepts(communicator, launch)) return kNoHandle;
  // A part of each all-to-all, copied within the device: nobody waits, and no channel ever comes.
  if (launch.point_to_point && launch.peer >= 0 &&
      launch.peer == communicator->rank.load(std::memory_order_relaxed)) {
    Count(counters_.to_itself);
    return kNoHandle;
  }
  RunningOperation* operation = operations_.Allocate();
  if (operation == nullptr) {
    Count(counters_.no_room);
    eroica_lost(EROICA_LOST_COLLECTIVE, static_cast<uint8_t>(DropReason::kRingFull), 1);
    return kNoHandle;
  }
  const int64_t now_ns = eroica_now_ns();
  const int name = FindOperationName(launch.func);
  const int kind = OperationNameAt(name).operation;
  const bool has_peer = launch.point_to_point && (kind == EROICA_SEND || kind == EROICA_RECV);
  const bool channels_known = launch.channels > 0 && launch.channels <= kMostChannels;
  operation->launched_ns = now_ns;
  operation->communicator_handle = handle;
  operation->communicator = communicators_.IndexOf(*communicator);
  operation->lane = communicator->lane.load(std::memory_order_relaxed);
  operation->name = static_cast<uint8_t>(name);
  operation->expected_channels = static_cast<uint16_t>(channels_known ? launch.channels : 0);
  const bool channels_come =
      options_.kernel_channels && (static_cast<uint64_t>(delivery.mask) & kKernelChEvent) != 0;
  operation->childless = !channels_come || launch.without_channels ||
                         communicator->silent.load(std::memory_order_relaxed);
  const EroicaCollective collective = {
      .communicator = communicator->core_number.load(std::memory_order_relaxed),
      .operation = static_cast<uint8_t>(kind),
      .peer = has_peer ? GlobalPeer(*communicator, launch.peer) : -1,
      .sequence = launch.point_to_point ? EROICA_NO_SEQUENCE : launch.sequence,
      .bytes = BytesOf(launch)};
  operation->ticket = eroica_collective_launched(&collective, now_ns);
  Enter(communicator, operation);
  const uint64_t started = operations_.HandleOf(*operation);
  operations_.Publish(operation);
  Count(counters_.launched);
  SettleQuiet(communicator, now_ns);
  return started;
}

RecorderStatistics CollectiveRecorder::statistics() const {
  const auto read = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  return {.launched = read(counters_.launched),
          .ended = read(counters_.ended),
          .ended_enqueued = read(counters_.ended_enqueued),
          .dropped = read(counters_.dropped),
          .no_room = read(counters_.no_room),
          .malformed = read(counters_.malformed),
          .stale_handles = read(counters_.stale_handles),
          .foreign = read(counters_.foreign),
          .untimed = read(counters_.untimed),
          .unknown_peers = read(counters_.unknown_peers),
          .to_itself = read(counters_.to_itself),
          .connections = read(counters_.connections)};
}

}  // namespace eroica::nccl
