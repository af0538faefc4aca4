#include "producers/core/testing/recorded_core.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "producers/core/trainer.h"
#include "schemas/mutex.h"

namespace eroica::recorded_core {
namespace {

struct State {
  Mutex mutex;
  Recorded recorded;
  bool enabled = true;
  bool wants_full_trace = false;
  int capture_level = 2;
  int full_for = 0;
  std::vector<std::pair<void (*)(void*), void*>> watches;
};

State& TheState() {
  static State state;
  return state;
}

Trainer& TheTrainer() {
  static Trainer trainer(getpid());
  return trainer;
}

ThreadSigns& SignsOfThread() {
  thread_local ThreadSigns signs{.thread = gettid()};
  return signs;
}

void TakeSign(int mark_kind, int64_t time_ns) {
  if (!eroica_enabled()) return;
  if (const auto sign = SignOf(static_cast<MarkKind>(mark_kind)))
    TheTrainer().Take(SignsOfThread(), *sign, time_ns);
}

// Under the lock, with what was recorded.
template <typename Work>
auto With(Work work) {
  State& state = TheState();
  const MutexLock lock(state.mutex);
  return work(state);
}

template <typename Row>
uint32_t Intern(std::vector<Row>& rows, Row row) {
  const auto known = std::find(rows.begin(), rows.end(), row);
  if (known != rows.end()) return static_cast<uint32_t>(known - rows.begin());
  rows.push_back(std::move(row));
  return static_cast<uint32_t>(rows.size() - 1);
}

// Of a ticket in flight; misuse is counted.
template <typename Work>
void Update(uint64_t ticket, Work work) {
  With([&](State& state) {
    Recorded& all = state.recorded;
    const bool known = ticket > 0 && ticket <= all.operations.size();
    if (!known || all.operations[ticket - 1].ended || all.operations[ticket - 1].dropped) {
      ++all.misuse;
      return;
    }
    work(all.operations[ticket - 1]);
  });
}

}  // namespace

Recorded Read() {
  return With([](const State& state) { return state.recorded; });
}

void Reset(bool enabled, int capture_level) {
  TheTrainer().Ended(TheTrainer().Read().number);
  With([&](State& state) {
    state.recorded = {};
    state.enabled = enabled;
    state.capture_level = capture_level;
    state.wants_full_trace = false;
    state.full_for = 0;
    state.watches.clear();
  });
}

void LookAtWatched() {
  for (const auto& [look, context] : With([](const State& state) { return state.watches; }))
    look(context);
}

void SetCaptureLevel(int capture_level) {
  With([&](State& state) { state.capture_level = capture_level; });
}

void SetWantsFullTrace(bool wants) {
  With([&](State& state) { state.wants_full_trace = wants; });
}

void SetFullFor(int questions) {
  With([&](State& state) { state.full_for = questions; });
}

}  // namespace eroica::recorded_core

using eroica::recorded_core::Intern;
using eroica::recorded_core::SignsOfThread;
using eroica::recorded_core::State;
using eroica::recorded_core::TakeSign;
using eroica::recorded_core::TheTrainer;
using eroica::recorded_core::Update;
using eroica::recorded_core::With;

extern "C" {

bool eroica_attach(const EroicaAttachOptions* options) {
  return With([&](State& state) {
    state.recorded.attached.emplace_back(options->component);
    if (options->rank >= 0) state.recorded.rank = options->rank;
    if (options->world_size >= 0) state.recorded.world_size = options->world_size;
    if (options->device >= 0) state.recorded.device = options->device;
    return state.enabled;
  });
}

void eroica_detach(uint32_t) {
  With([](State& state) { state.enabled = false; });
}

bool eroica_enabled(void) {
  return With([](const State& state) { return state.enabled; });
}

bool eroica_watch(void (*look)(void*), void* context) {
  return With([&](State& state) {
    state.watches.emplace_back(look, context);
    return state.enabled;
  });
}

int64_t eroica_rank(void) {
  return With([](const State& state) { return state.recorded.rank; });
}

int64_t eroica_world_size(void) {
  return With([](const State& state) { return state.recorded.world_size; });
}

const char* eroica_off_reason(void) { return ""; }

int eroica_capture_level(void) {
  return With([](const State& state) { return state.capture_level; });
}

bool eroica_wants(int function_class) {
  return With([&](const State& state) {
    return state.enabled && (function_class == EROICA_COLLECTIVE || state.capture_level > 0);
  });
}

bool eroica_wants_full_trace(void) {
  return With([](const State& state) { return state.wants_full_trace; });
}

int64_t eroica_now_ns(void) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t eroica_from_realtime_ns(int64_t realtime_ns) { return realtime_ns; }
int64_t eroica_from_monotonic_ns(int64_t monotonic_ns) { return monotonic_ns; }

uint32_t eroica_function(const char* name, int function_class, int wait, uint32_t parent) {
  return With([&](State& state) {
    return Intern<eroica::recorded_core::TakenFunction>(state.recorded.functions,
                                                        {name, function_class, wait, parent});
  });
}

uint8_t eroica_lane(const char* name, int lane_kind) {
  return With([&](State& state) {
    return static_cast<uint8_t>(
        Intern<eroica::recorded_core::TakenLane>(state.recorded.lanes, {name, lane_kind}));
  });
}

void eroica_keep_rank(void) {}

uint16_t eroica_communicator(uint64_t id, const char* name, const char* description, uint32_t size,
                             const uint32_t* ranks) {
  return eroica_communicator_over(EROICA_UNKNOWN_LIBRARY, id, name, description, size, ranks);
}

uint16_t eroica_communicator_over(int library, uint64_t id, const char* name,
                                  const char* description, uint32_t size, const uint32_t* ranks) {
  return With([&](State& state) {
    auto& all = state.recorded.communicators;
    const auto known =
        std::find_if(all.begin(), all.end(), [&](const auto& row) { return row.id == id; });
    if (known != all.end()) return static_cast<uint16_t>(known - all.begin());
    all.push_back({id, name, description, size, {}, library});
    if (ranks != nullptr) all.back().ranks.assign(ranks, ranks + size);
    return static_cast<uint16_t>(all.size() - 1);
  });
}

uint32_t eroica_room(void) {
  return With([](State& state) {
    if (state.full_for == 0) return UINT32_MAX;
    --state.full_for;
    return uint32_t{0};
  });
}

void eroica_interval(int64_t start_ns, int64_t end_ns, uint32_t function, uint8_t lane) {
  With([&](State& state) {
    if (!state.enabled || state.full_for > 0) return;
    if (function >= state.recorded.functions.size() || lane >= state.recorded.lanes.size())
      ++state.recorded.misuse;
    state.recorded.intervals.push_back({start_ns, end_ns, function, lane});
  });
}

void eroica_mark(int64_t time_ns, int mark_kind, int64_t id) {
  TakeSign(mark_kind, time_ns);
  With([&](State& state) {
    if (state.enabled) state.recorded.marks.push_back({time_ns, mark_kind, id});
  });
}

void eroica_sample(int64_t time_ns, int resource, float value) {
  With([&](State& state) {
    if (state.enabled) state.recorded.samples.push_back({time_ns, resource, value});
  });
}

uint64_t eroica_collective_launched(const EroicaCollective* collective, int64_t time_ns) {
  return With([&](State& state) -> uint64_t {
    if (!state.enabled) return 0;
    if (collective->communicator >= state.recorded.communicators.size()) ++state.recorded.misuse;
    state.recorded.operations.push_back(
        {.call = *collective, .launched_ns = time_ns, .interval = {}});
    return state.recorded.operations.size();
  });
}

void eroica_collective_started(uint64_t ticket) {
  Update(ticket, [](auto& operation) { operation.started = true; });
}

void eroica_collective_ended(uint64_t ticket, int64_t start_ns, int64_t end_ns, uint32_t function,
                             uint8_t lane) {
  Update(ticket, [&](auto& operation) {
    operation.ended = true;
    operation.interval = {start_ns, end_ns, function, lane};
  });
}

void eroica_collective_dropped(uint64_t ticket) {
  Update(ticket, [](auto& operation) { operation.dropped = true; });
}

void eroica_connection(int64_t time_ns, const EroicaConnection* connection) {
  With([&](State& state) {
    if (state.enabled) state.recorded.connections.push_back({time_ns, *connection});
  });
}

void eroica_training_function(uint32_t function) {
  With([&](State& state) { state.recorded.training_function = function; });
}

void eroica_lost(int kind, uint8_t reason, uint64_t count) {
  With([&](State& state) { state.recorded.losses.push_back({kind, reason, count}); });
}

EroicaTrainer eroica_trainer(void) {
  const eroica::Trainer::Thread trainer = TheTrainer().Read();
  return {.thread = trainer.thread, .number = trainer.number};
}

bool eroica_trains(void) { return eroica_enabled() && TheTrainer().Is(SignsOfThread()); }

void eroica_trainer_ended(uint32_t number) { TheTrainer().Ended(number); }

void eroica_reports_processor_waits(bool reports) {
  With([&](State& state) { state.recorded.processor_waits_reported = reports; });
}

bool eroica_processor_waits_are_reported(void) {
  return With([](State& state) { return state.recorded.processor_waits_reported; });
}

int64_t eroica_step(int64_t time_ns) {
  TakeSign(EROICA_STEP_BEGIN, time_ns);
  return With([&](State& state) {
    auto& all = state.recorded;
    if (all.steps > 0) all.marks.push_back({time_ns, EROICA_STEP_END, all.steps - 1});
    all.marks.push_back({time_ns, EROICA_STEP_BEGIN, all.steps});
    return all.steps++;
  });
}

void eroica_dataloader_next(int64_t time_ns) { eroica_mark(time_ns, EROICA_DATALOADER_NEXT, 0); }
void eroica_optimizer_step(int64_t time_ns) { eroica_mark(time_ns, EROICA_OPTIMIZER_STEP, 0); }

void eroica_core_statistics(EroicaCoreStatistics* out) { *out = {}; }

}  // extern "C"
