#include "producers/nccl/testing/nccl_harness.h"

#include <concepts>
#include <cstring>

#include "producers/nccl/abi_v3.h"
#include "producers/nccl/abi_v4.h"
#include "producers/nccl/abi_v5.h"
#include "producers/nccl/abi_v6.h"
#include "producers/nccl/abi_v7.h"

namespace eroica::nccl {
namespace {

int process_mask = 0;

template <typename Profiler, typename Event, typename StateArgs, int kVersion>
class VersionHarness final : public NcclHarness {
 public:
  explicit VersionHarness(Profiler* profiler) : profiler_(profiler) {}

  int Init(HarnessCommunicator* c) override {
    const char* name = c->name.empty() ? nullptr : c->name.c_str();
    if constexpr (kVersion == 3) {
      return profiler_->init(&c->context, &mask);
    } else if constexpr (kVersion == 4) {
      return profiler_->init(&c->context, &mask, name, c->id, c->nodes, c->ranks, c->rank, nullptr);
    } else {
      return profiler_->init(&c->context, c->id, &mask, name, c->nodes, c->ranks, c->rank, nullptr);
    }
  }

  void* Start(const HarnessCommunicator& c, const HarnessOperation& op) override {
    Event event = Fresh(op.point_to_point ? kP2pEvent : kCollEvent, nullptr);
    event.rank = c.rank;
    if (op.point_to_point) {
      FillPeerToPeer(&event, c, op);
    } else {
      FillCollective(&event, c, op);
    }
    return StartEvent(c, &event);
  }

  void* StartProxyOp(const HarnessCommunicator& c, void* parent,
                     const HarnessProxyOp& op) override {
    Event event = Fresh(kProxyOpEvent, parent);
    event.rank = c.rank;
    event.proxy_op.pid = op.pid;
    event.proxy_op.channel = 0;
    event.proxy_op.peer = op.peer;
    event.proxy_op.steps = 4;
    event.proxy_op.chunk_size = 1 << 20;
    event.proxy_op.is_send = op.is_send ? 1 : 0;
    return StartEvent(c, &event);
  }

  void* StartKernelChannel(const HarnessCommunicator& c, void* parent, uint8_t channel,
                           uint64_t timer) override {
    Event event = Fresh(kKernelChEvent, parent);
    event.kernel_ch.channel = channel;
    if constexpr (kVersion > 3) event.kernel_ch.timer = timer;
    return StartEvent(c, &event);
  }

  void* StartOfType(const HarnessCommunicator& c, uint64_t type, void* parent) override {
    Event event = Fresh(type, parent);
    return StartEvent(c, &event);
  }

  int Record(void* handle, int state, uint64_t argument) override {
    StateArgs args{};
    if constexpr (kVersion == 3) {
      if (state == kKernelChStop) return kAbiSuccess;
      args.proxy_op.size = argument;
    } else if (state == kKernelChStop) {
      args.kernel_ch.timer = argument;
    } else {
      args.proxy_step.size = argument;
    }
    return profiler_->record_event_state(handle, state, &args);
  }

  int Stop(void* handle) override { return profiler_->stop_event(handle); }
  int Finalize(void* context) override { return profiler_->finalize(context); }

  bool PassNulls(const HarnessCommunicator& c) override {
    Event no_strings = Fresh(kCollEvent, nullptr);
    if constexpr (kVersion == 4) std::memset(&no_strings.coll, 0, sizeof(no_strings.coll));
    void* handle = &handle;
    StateArgs args{};
    bool success = profiler_->start_event(c.context, &handle, nullptr) == kAbiSuccess;
    success = success && handle == nullptr;
    handle = &handle;
    success = success && profiler_->start_event(c.context, nullptr, &no_strings) == kAbiSuccess;
    success = success && profiler_->start_event(nullptr, &handle, &no_strings) == kAbiSuccess;
    success = success && handle == nullptr;
    success = success && profiler_->start_event(c.context, &handle, &no_strings) == kAbiSuccess;
    success = success && handle == nullptr;
    success = success && profiler_->stop_event(nullptr) == kAbiSuccess;
    success =
        success && profiler_->record_event_state(nullptr, kKernelChStop, &args) == kAbiSuccess;
    success = success && profiler_->record_event_state(c.context, kKernelChStop, nullptr) == 0;
    return success && profiler_->finalize(nullptr) == kAbiSuccess;
  }

  int version() const override { return kVersion; }

 private:
  // Newer NCCL does not clear what it hands to version 4.
  static Event Fresh(uint64_t type, void* parent) {
    Event event;
    std::memset(static_cast<void*>(&event), kVersion == 4 ? 0xAB : 0, sizeof(event));
    event.type = static_cast<decltype(event.type)>(type);
    event.parent = parent;
    event.rank = 0;
    return event;
  }

  static void FillCollective(Event* event, const HarnessCommunicator& c,
                             const HarnessOperation& op) {
    event->coll.sequence = op.sequence;
    event->coll.func = op.func;
    event->coll.send_buffer = nullptr;
    event->coll.recv_buffer = nullptr;
    event->coll.count = op.count;
    event->coll.root = 0;
    event->coll.datatype = op.datatype;
    event->coll.channels = op.channels;
    event->coll.warps = 16;
    event->coll.algorithm = "RING";
    event->coll.protocol = "LL";
    if constexpr (kVersion == 3) FillIdentity(&event->coll, c);
    if constexpr (kVersion == 7) {
      event->coll.kernel_variant = op.symmetric ? "AllGather_LL" : nullptr;
      event->coll.is_symmetric = op.symmetric;
      event->coll.user_tag = 7;
    }
  }

  static void FillPeerToPeer(Event* event, const HarnessCommunicator& c,
                             const HarnessOperation& op) {
    event->p2p.func = op.func;
    event->p2p.buffer = nullptr;
    event->p2p.datatype = op.datatype;
    event->p2p.count = op.count;
    event->p2p.peer = op.peer;
    if constexpr (kVersion > 4) event->p2p.channels = op.channels;
    if constexpr (kVersion == 3) FillIdentity(&event->p2p, c);
    if constexpr (kVersion == 7) event->p2p.user_tag = 7;
  }

  template <typename Operation>
  static void FillIdentity(Operation* operation, const HarnessCommunicator& c) {
    operation->comm_name = c.name.empty() ? nullptr : c.name.c_str();
    operation->comm_hash = c.id;
  }

  void* StartEvent(const HarnessCommunicator& c, Event* event) {
    void* handle = event;  // what lay there before
    profiler_->start_event(c.context, &handle, event);
    return handle;
  }

  Profiler* profiler_;
};

}  // namespace

NcclHarness::NcclHarness() : mask(process_mask) { mask = 0; }

void NcclHarness::StopKernelChannel(void* handle, uint64_t timer) {
  if (handle == nullptr) return;
  Record(handle, kKernelChStop, timer);
  Stop(handle);
}

std::unique_ptr<NcclHarness> MakeNcclHarness(int version, void* profiler) {
  switch (version) {
    case 3:
      return std::make_unique<VersionHarness<ProfilerV3, EventV3, StateArgsV3, 3>>(
          static_cast<ProfilerV3*>(profiler));
    case 4:
      return std::make_unique<VersionHarness<ProfilerV4, EventV4, StateArgsV4, 4>>(
          static_cast<ProfilerV4*>(profiler));
    case 5:
      return std::make_unique<VersionHarness<ProfilerV5, EventV5, StateArgsV4, 5>>(
          static_cast<ProfilerV5*>(profiler));
    case 6:
      return std::make_unique<VersionHarness<ProfilerV6, EventV6, StateArgsV4, 6>>(
          static_cast<ProfilerV6*>(profiler));
    case 7:
      return std::make_unique<VersionHarness<ProfilerV7, EventV7, StateArgsV4, 7>>(
          static_cast<ProfilerV7*>(profiler));
    default: return nullptr;
  }
}

}  // namespace eroica::nccl
