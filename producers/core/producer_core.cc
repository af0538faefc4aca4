// The C ABI over Attachment and CoreState. What is hot is a look at one pointer, one ring and no
// more.
#include "producers/core/producer_core.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>

#include "producers/core/attachment.h"
#include "schemas/codec.h"
#include "schemas/thread_boundary.h"

namespace {

using namespace eroica;

// Of this thread; null before its first event, and where all rings are taken.
thread_local EventRing* t_ring = nullptr;
thread_local bool t_refused = false;

EventRing* RingOfThread(CoreState& state) {
  if (t_ring != nullptr || t_refused) return t_ring;
  t_ring = state.rings->Claim(static_cast<pid_t>(::syscall(SYS_gettid)));
  t_refused = t_ring == nullptr;
  return t_ring;
}

// What this thread has shown of training.
ThreadSigns& SignsOfThread() {
  thread_local ThreadSigns signs;
  if (signs.thread == 0) signs.thread = static_cast<int32_t>(::syscall(SYS_gettid));
  return signs;
}

template <size_t N>
void Push(CoreState& state, const std::array<RingSlot, N>& slots, EventKind kind) {
  EventRing* const ring = RingOfThread(state);
  if (ring == nullptr || !ring->Push(slots)) state.losses.Add(kind, DropReason::kRingFull);
}

FunctionClass ClassOf(int number) {
  return number >= 0 && number < kFunctionClassCount ? static_cast<FunctionClass>(number)
                                                     : FunctionClass::kCpuOp;
}

const char* OrEmpty(const char* text) { return text == nullptr ? "" : text; }

// What may allocate, on the host's threads: where it throws, the collection is switched off, and
// the host goes on with this answer.
template <typename Work>
auto OrSwitchOff(Work work, decltype(work()) otherwise) {
  return AtBoundary(work, [&](const Thrown& thrown) {
    Attachment::OfProcess().TurnOffThrown(thrown);
    return otherwise;
  });
}

}  // namespace

extern "C" {

bool eroica_attach(const EroicaAttachOptions* options) {
  constexpr EroicaAttachOptions kNothingKnown{
      .component = "", .rank = -1, .world_size = -1, .role = nullptr, .device = -1};
  const EroicaAttachOptions& known = options == nullptr ? kNothingKnown : *options;
  return OrSwitchOff([&] { return Attachment::OfProcess().Attach(known); }, false);
}

void eroica_detach(uint32_t timeout_ms) {
  RunAtBoundary([&] { Attachment::OfProcess().Detach(std::chrono::milliseconds(timeout_ms)); },
                [](const Thrown& thrown) { Attachment::OfProcess().DetachThrown(thrown); });
}

void eroica_keep_rank(void) { Attachment::OfProcess().Keep(); }

bool eroica_enabled(void) { return Attachment::state() != nullptr; }

bool eroica_watch(void (*look)(void* context), void* context) {
  CoreState* const state = Attachment::state();
  return state != nullptr && look != nullptr && state->watches.Add(look, context);
}

int64_t eroica_rank(void) {
  const CoreState* const state = Attachment::state();
  return state == nullptr ? -1 : state->rank.load(std::memory_order_relaxed);
}

int64_t eroica_world_size(void) {
  const CoreState* const state = Attachment::state();
  return state == nullptr ? -1 : state->world_size.load(std::memory_order_relaxed);
}

const char* eroica_off_reason(void) { return Attachment::OfProcess().off_reason(); }

int eroica_capture_level(void) {
  const CoreState* const state = Attachment::state();
  return state == nullptr ? 0 : state->level.load(std::memory_order_relaxed);
}

bool eroica_wants(int function_class) {
  const CoreState* const state = Attachment::state();
  if (state == nullptr) return false;
  return function_class == EROICA_COLLECTIVE || state->level.load(std::memory_order_relaxed) > 0;
}

bool eroica_wants_full_trace(void) {
  const CoreState* const state = Attachment::state();
  return state != nullptr && state->full_trace.load(std::memory_order_relaxed);
}

int64_t eroica_now_ns(void) {
  const CoreState* const state = Attachment::state();
  return state == nullptr ? 0 : state->clock.NowNs();
}

int64_t eroica_from_realtime_ns(int64_t realtime_ns) {
  const CoreState* const state = Attachment::state();
  return state == nullptr ? 0 : state->clock.FromRealtime(realtime_ns);
}

int64_t eroica_from_monotonic_ns(int64_t monotonic_ns) {
  const CoreState* const state = Attachment::state();
  return state == nullptr ? 0 : state->clock.FromMonotonic(monotonic_ns);
}

uint32_t eroica_function(const char* name, int function_class, int wait, uint32_t parent) {
  CoreState* const state = Attachment::state();
  if (state == nullptr) return 0;
  bool full = false;
  const bool known_wait = wait >= 0 && wait < kWaitKindCount;
  const FunctionClass known_class = ClassOf(function_class);
  const uint32_t number = OrSwitchOff(
      [&] {
        return state->names.Function(OrEmpty(name), known_class,
                                     known_wait ? static_cast<WaitKind>(wait) : WaitKind::kNone,
                                     parent, &full);
      },
      NameTables::OtherFunctions(known_class));
  if (full) state->losses.Add(EventKind::kInterval, DropReason::kTooManyFunctions);
  return number;
}

uint8_t eroica_lane(const char* name, int lane_kind) {
  CoreState* const state = Attachment::state();
  if (state == nullptr) return 0;
  const bool known = lane_kind >= 0 && lane_kind < kLaneKindCount;
  return OrSwitchOff(
      [&] {
        return state->names.LaneOf(
            OrEmpty(name), known ? static_cast<LaneKind>(lane_kind) : LaneKind::kHostThread);
      },
      uint8_t{0});
}

uint16_t eroica_communicator(uint64_t id, const char* name, const char* description, uint32_t size,
                             const uint32_t* ranks) {
  return eroica_communicator_over(EROICA_UNKNOWN_LIBRARY, id, name, description, size, ranks);
}

uint16_t eroica_communicator_over(int library, uint64_t id, const char* name,
                                  const char* description, uint32_t size, const uint32_t* ranks) {
  CoreState* const state = Attachment::state();
  if (state == nullptr || size > CodecLimits::kRanks) return NameTables::kNoCommunicator;
  return OrSwitchOff(
      [&] {
        Communicator communicator{CommId{id}, OrEmpty(name), OrEmpty(description), size, {}};
        if (ranks != nullptr) communicator.ranks.assign(ranks, ranks + size);
        if (library >= 0 && library < kCollectiveLibraryCount)
          communicator.library = static_cast<CollectiveLibrary>(library);
        return state->names.CommunicatorOf(communicator);
      },
      NameTables::kNoCommunicator);
}

uint32_t eroica_room(void) {
  CoreState* const state = Attachment::state();
  EventRing* const ring = state == nullptr ? nullptr : RingOfThread(*state);
  return ring == nullptr ? UINT32_MAX : static_cast<uint32_t>(ring->room());
}

void eroica_interval(int64_t start_ns, int64_t end_ns, uint32_t function, uint8_t lane) {
  CoreState* const state = Attachment::state();
  if (state == nullptr || state->level.load(std::memory_order_relaxed) == 0) return;
  Push(*state,
       std::array{RingSlot{
           .a = start_ns, .b = end_ns, .c = function, .e = lane, .kind = SlotKind::kInterval}},
       EventKind::kInterval);
}

void eroica_mark(int64_t time_ns, int mark_kind, int64_t id) {
  CoreState* const state = Attachment::state();
  if (state == nullptr || mark_kind < 0 || mark_kind >= kMarkKindCount) return;
  // Steps are made of marks: a moment that is none must not reach their detection.
  if (time_ns <= 0 || time_ns >= CodecLimits::kMaxTimeNs)
    return state->losses.Add(EventKind::kMark, DropReason::kMalformedEvent);
  const auto kind = static_cast<MarkKind>(mark_kind);
  ThreadSigns& signs = SignsOfThread();
  if (const auto sign = SignOf(kind)) state->trainer.Take(signs, *sign, time_ns);
  const MarkedBy by = state->trainer.Marking(signs, kind);
  Push(*state,
       std::array{RingSlot{.a = time_ns,
                           .b = id,
                           .c = static_cast<uint32_t>(signs.thread),
                           .d = static_cast<uint16_t>(by),
                           .e = static_cast<uint8_t>(mark_kind),
                           .kind = SlotKind::kMark}},
       EventKind::kMark);
}

void eroica_sample(int64_t time_ns, int resource, float value) {
  CoreState* const state = Attachment::state();
  if (state == nullptr || resource < 0 || resource >= kResourceCount) return;
  Push(*state,
       std::array{RingSlot{.a = time_ns,
                           .c = std::bit_cast<uint32_t>(value),
                           .e = static_cast<uint8_t>(resource),
                           .kind = SlotKind::kSample}},
       EventKind::kSample);
}

uint64_t eroica_collective_launched(const EroicaCollective* collective, int64_t time_ns) {
  CoreState* const state = Attachment::state();
  if (state == nullptr || collective == nullptr ||
      collective->operation >= kCollectiveOperationCount)
    return 0;
  const FlightTable::Launched launched =
      state->flights.Launch({.communicator = collective->communicator,
                             .operation = static_cast<CollectiveOperation>(collective->operation),
                             .started = false,
                             .peer = collective->peer,
                             .sequence = collective->sequence,
                             .bytes = collective->bytes,
                             .launched_ns = time_ns});
  return launched.ticket;
}

void eroica_collective_started(uint64_t ticket) {
  CoreState* const state = Attachment::state();
  if (state != nullptr) state->flights.Start(ticket);
}

void eroica_collective_ended(uint64_t ticket, int64_t start_ns, int64_t end_ns, uint32_t function,
                             uint8_t lane) {
  CoreState* const state = Attachment::state();
  if (state == nullptr) return;
  const auto ended = state->flights.End(ticket);
  if (!ended) return state->losses.Add(EventKind::kCollective, DropReason::kRingFull);
  Push(*state,
       std::array{
           RingSlot{
               .a = start_ns, .b = end_ns, .c = function, .e = lane, .kind = SlotKind::kCollective},
           RingSlot{.a = static_cast<int64_t>(ended->sequence),
                    .b = static_cast<int64_t>(ended->bytes),
                    .c = static_cast<uint32_t>(ended->peer),
                    .d = ended->communicator,
                    .e = static_cast<uint8_t>(ended->operation),
                    .kind = SlotKind::kSecondHalf}},
       EventKind::kCollective);
}

void eroica_collective_dropped(uint64_t ticket) {
  CoreState* const state = Attachment::state();
  if (state != nullptr) state->flights.End(ticket);
}

void eroica_connection(int64_t time_ns, const EroicaConnection* connection) {
  CoreState* const state = Attachment::state();
  if (state == nullptr || connection == nullptr || connection->resource < 0 ||
      connection->resource >= kResourceCount)
    return;
  Push(*state,
       std::array{RingSlot{.a = time_ns,
                           .b = static_cast<int64_t>(connection->bytes),
                           .c = connection->peer,
                           .d = connection->communicator,
                           .e = static_cast<uint8_t>(connection->resource),
                           .kind = SlotKind::kConnection},
                  RingSlot{.a = connection->busy_ns,
                           .b = static_cast<int64_t>(connection->retransmits),
                           .e = connection->channels,
                           .kind = SlotKind::kSecondHalf}},
       EventKind::kSample);
}

void eroica_training_function(uint32_t function) {
  CoreState* const state = Attachment::state();
  if (state != nullptr) state->training_function.store(function, std::memory_order_relaxed);
}

void eroica_lost(int kind, uint8_t reason, uint64_t count) {
  CoreState* const state = Attachment::state();
  constexpr uint64_t kMostAtOnce = uint64_t{1} << 32;  // a count beyond that is broken
  if (state == nullptr || kind < 0 || kind >= kEventKindCount || !IsDropReason(reason)) return;
  state->losses.Add(static_cast<EventKind>(kind), static_cast<DropReason>(reason),
                    std::min(count, kMostAtOnce));
}

EroicaTrainer eroica_trainer(void) {
  const CoreState* const state = Attachment::state();
  if (state == nullptr) return {.thread = 0, .number = 0};
  const Trainer::Thread trainer = state->trainer.Read();
  return {.thread = trainer.thread, .number = trainer.number};
}

bool eroica_trains(void) {
  const CoreState* const state = Attachment::state();
  return state != nullptr && state->trainer.Is(SignsOfThread());
}

void eroica_trainer_ended(uint32_t number) {
  CoreState* const state = Attachment::state();
  if (state != nullptr) state->trainer.Ended(number);
}

void eroica_reports_processor_waits(bool reports) {
  CoreState* const state = Attachment::state();
  if (state != nullptr) state->processor_waits_reported.store(reports, std::memory_order_relaxed);
}

bool eroica_processor_waits_are_reported(void) {
  const CoreState* const state = Attachment::state();
  return state != nullptr && state->processor_waits_reported.load(std::memory_order_relaxed);
}

int64_t eroica_step(int64_t time_ns) {
  CoreState* const state = Attachment::state();
  if (state == nullptr) return -1;
  const int64_t step = state->own_steps.fetch_add(1, std::memory_order_relaxed);
  eroica_mark(time_ns, EROICA_STEP_BEGIN, step);
  return step;
}

void eroica_dataloader_next(int64_t time_ns) { eroica_mark(time_ns, EROICA_DATALOADER_NEXT, 0); }

void eroica_optimizer_step(int64_t time_ns) { eroica_mark(time_ns, EROICA_OPTIMIZER_STEP, 0); }

void eroica_core_statistics(EroicaCoreStatistics* out) {
  const CoreState* const state = Attachment::state();
  if (out == nullptr) return;
  *out = {};
  if (state == nullptr) return;
  out->events_taken = state->events_taken.load(std::memory_order_relaxed);
  out->events_sent = state->events_sent.load(std::memory_order_relaxed);
  out->events_lost = state->losses.total();
  out->batches_sent = state->batches_sent.load(std::memory_order_relaxed);
  out->bytes_sent = state->bytes_sent.load(std::memory_order_relaxed);
  out->emitter_cpu_ns = state->emitter_cpu_ns.load(std::memory_order_relaxed);
  out->memory_bytes = state->memory_bytes.load(std::memory_order_relaxed);
}

}  // extern "C"
