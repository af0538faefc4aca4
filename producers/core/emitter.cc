#include "producers/core/emitter.h"

#include <algorithm>
#include <utility>

#include "schemas/invariants.h"

namespace eroica {
namespace {

bool NeedsDevice(FunctionClass function_class) {
  return function_class == FunctionClass::kGpuCompute || function_class == FunctionClass::kMemoryOp;
}

bool IsPause(MarkKind kind) {
  return kind == MarkKind::kCheckpointBegin || kind == MarkKind::kCheckpointEnd ||
         kind == MarkKind::kEvaluationBegin || kind == MarkKind::kEvaluationEnd;
}

uint64_t EventsIn(const EventBatch& batch) {
  return batch.intervals.size() + batch.marks.size() + batch.samples.size() +
         batch.connections.size();
}

}  // namespace

Emitter::Emitter(CoreState* state, EmitterOptions options, BatchSink* sink)
    : state_(state),
      options_(std::move(options)),
      sink_(sink),
      maker_(&state->names, options_.identity.world_size),
      plan_(options_.level),
      steps_(options_.first_step) {
  state_->level.store(static_cast<int>(options_.level), std::memory_order_relaxed);
}

double Emitter::Tick(int64_t now_ns) {
  if (last_progress_ns_ == 0) last_progress_ns_ = last_send_ns_ = now_ns;
  size_t fullest = 0;
  uint64_t events = 0;
  state_->rings->ForEach([&](EventRing& ring) {
    fullest = std::max(fullest, ring.size());
    events +=
        ring.Drain([this](const RingSlot* slot, const RingSlot* second) { Take(*slot, second); });
  });
  state_->events_taken.fetch_add(events, std::memory_order_relaxed);
  ReportIfStalled(now_ns);
  RepeatSuspended(now_ns);
  SetGate(now_ns);
  // A sixteenth early rather than a whole round late.
  const int64_t due_ns = options_.send_interval_ns - options_.send_interval_ns / 16;
  const bool due = now_ns - last_send_ns_ >= due_ns;
  if (maker_.events() >= kSendRows || (due && !maker_.empty())) Send(now_ns, false);
  return static_cast<double>(fullest) / static_cast<double>(EventRing::kCapacity);
}

void Emitter::Finish(int64_t now_ns) {
  Tick(now_ns);
  marks_.clear();
  steps_.Finish(&marks_);
  for (const Mark& mark : marks_) AddMark(mark);
  Send(now_ns, true);
}

void Emitter::Take(const RingSlot& slot, const RingSlot* second) {
  if (slot.kind == SlotKind::kMark) return TakeMark(slot);
  if (slot.kind == SlotKind::kInterval && !plan_.Keeps(slot.a)) return;
  maker_.Add(slot, second);
}

void Emitter::TakeMark(const RingSlot& slot) {
  marked_ = true;
  marks_.clear();
  const auto kind = static_cast<MarkKind>(slot.e);
  if (kind == MarkKind::kStepBegin) {
    steps_.Step(slot.a, &marks_);
  } else if (kind == MarkKind::kDataloaderNext) {
    TakeBatch(slot);
  } else if (kind == MarkKind::kOptimizerStep || kind == MarkKind::kStepEnd) {
    TakeOptimizer(slot);
  } else if (IsPause(kind) && !TakePause(slot)) {
    return;
  }
  NoteCapture({slot.a, kind, slot.b});
  for (const Mark& mark : marks_) AddMark(mark);
  if (kind != MarkKind::kStepBegin && kind != MarkKind::kStepEnd) maker_.Add(slot, nullptr);
}

void Emitter::TakeBatch(const RingSlot& slot) {
  const auto by = static_cast<MarkedBy>(slot.d);
  const Trainer::Thread trainer = state_->trainer.Read();
  // Its first batches come before the thread that trains shows anything.
  const bool only_loads = by == MarkedBy::kLoader && trainer.number != 0 &&
                          static_cast<uint32_t>(trainer.thread) != slot.c;
  if (by == MarkedBy::kOther || only_loads) return steps_.LoadedElsewhere();
  steps_.DataloaderNext(slot.a, &marks_);
}

void Emitter::TakeOptimizer(const RingSlot& slot) {
  const auto by = static_cast<MarkedBy>(slot.d);
  if (by == MarkedBy::kOther) return;
  if (static_cast<MarkKind>(slot.e) == MarkKind::kStepEnd) return steps_.MayEnd(slot.a);
  if (by == MarkedBy::kTrainerWithoutBatches) steps_.HasNoDataloader();
  steps_.OptimizerStep(slot.a, &marks_);
}

bool Emitter::TakePause(const RingSlot& slot) {
  const auto kind = static_cast<MarkKind>(slot.e);
  const bool begins = kind == MarkKind::kCheckpointBegin || kind == MarkKind::kEvaluationBegin;
  const bool is_other = static_cast<MarkedBy>(slot.d) == MarkedBy::kOther;
  // The thread that trains may have become another one in between.
  if (is_other && (begins || pausing_thread_ != slot.c)) return false;
  pausing_thread_.reset();
  if (begins) pausing_thread_ = slot.c;
  steps_.SetPaused(begins);
  return true;
}

void Emitter::NoteCapture(const Mark& mark) {
  const std::optional<CaptureGap> gap = CaptureGap::OfMark(mark.id);
  if (!gap) return;
  std::optional<Mark>& suspended = suspended_[static_cast<size_t>(gap->capture)];
  if (mark.kind == MarkKind::kCaptureSuspended) suspended = mark;
  if (mark.kind == MarkKind::kCaptureResumed) suspended.reset();
}

void Emitter::AddMark(const Mark& mark) {
  const auto add = [this](int64_t time_ns, MarkKind kind, int64_t id) {
    maker_.Add({.a = time_ns, .b = id, .e = static_cast<uint8_t>(kind), .kind = SlotKind::kMark},
               nullptr);
  };
  add(mark.time_ns, mark.kind, mark.id);
  if (mark.kind != MarkKind::kStepBegin) return;
  plan_.StepBegan(mark.id, mark.time_ns);
  for (const std::optional<Mark>& suspended : suspended_) {
    if (suspended && suspended->time_ns < mark.time_ns)
      add(mark.time_ns, suspended->kind, suspended->id);
  }
}

void Emitter::RepeatSuspended(int64_t now_ns) {
  if (steps_.has_begun() || now_ns - last_repeat_ns_ < kRepeatNs) return;
  last_repeat_ns_ = now_ns;
  for (const std::optional<Mark>& suspended : suspended_) {
    if (!suspended) continue;
    maker_.Add({.a = now_ns,
                .b = suspended->id,
                .e = static_cast<uint8_t>(suspended->kind),
                .kind = SlotKind::kMark},
               nullptr);
  }
}

void Emitter::ReportIfStalled(int64_t now_ns) {
  const uint64_t progress = state_->flights.changes();
  if (progress != progress_ || std::exchange(marked_, false)) {
    progress_ = progress;
    last_progress_ns_ = now_ns;
    return;
  }
  // Before the first step nobody trains yet.
  if (!steps_.has_begun() || now_ns - std::max(last_progress_ns_, last_report_ns_) < kStalledNs)
    return;
  last_report_ns_ = now_ns;
  ProgressReport report{.time_ns = now_ns,
                        .step = steps_.step(),
                        .function = state_->training_function.load(std::memory_order_relaxed),
                        .in_flight = state_->flights.InFlight(),
                        .operations = {},
                        .timed_out = false,
                        .collectives_suspended = IsSuspended(CaptureKind::kCollectives)};
  report.operations = state_->flights.Operations(report.in_flight);
  maker_.AddReport(std::move(report));
}

RankStanding Emitter::Place(int64_t now_ns) const {
  const ProducerIdentity& identity = options_.identity;
  RankStanding place;
  place.job = identity.job;
  place.rank = identity.rank;
  place.world_size = identity.world_size;
  place.host = identity.host;
  place.device = state_->device.load(std::memory_order_relaxed);
  place.pid = identity.pid;
  place.time_ns = now_ns;
  place.last_progress_ns = std::clamp<int64_t>(last_progress_ns_, 0, now_ns);
  place.step_mean_ns = steps_.mean_step_ns();
  if (steps_.has_begun()) {
    place.step = steps_.step();
    place.last_step = place.step - 1;
  }
  if (steps_.has_begun() && identity.window_steps > 0) {
    place.window_kind = WindowKind::kSteps;
    place.window_index =
        StepWindows{.size = identity.window_steps, .offset = identity.window_offset}.IndexOf(
            place.step);
  }
  const std::vector<std::string> path =
      state_->names.PathTo(state_->training_function.load(std::memory_order_relaxed));
  if (path.empty()) return place;
  place.function = path.back();
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (i > 0) place.stack += kStackSeparator;
    place.stack += path[i];
  }
  return place;
}

void Emitter::SetGate(int64_t now_ns) {
  // As many steps as may begin until the next rounds have set the gate.
  constexpr int64_t kAheadNs = 1'200'000'000;
  const int64_t mean_ns = steps_.mean_step_ns();
  const int64_t steps_ahead = 1 + (mean_ns > 0 ? std::min<int64_t>(kAheadNs / mean_ns, 1'000) : 1);
  state_->level.store(static_cast<int>(plan_.Gate(steps_ahead, now_ns)), std::memory_order_relaxed);
  state_->full_trace.store(plan_.WantsFullTrace(), std::memory_order_relaxed);
}

void Emitter::Send(int64_t now_ns, bool final) {
  last_send_ns_ = now_ns;
  maker_.TakeBatches([&](EventBatch& batch, bool last) { SendBatch(batch, final && last); });
  state_->losses.Add(EventKind::kInterval, DropReason::kMalformedEvent, maker_.TakeMalformed());
}

void Emitter::SendBatch(EventBatch& batch, bool final) {
  batch.identity = options_.identity;
  batch.identity.device = state_->device.load(std::memory_order_relaxed);
  if (std::any_of(batch.functions.begin(), batch.functions.end(),
                  [](const auto& f) { return NeedsDevice(f.function_class); })) {
    state_->has_device_events.store(true, std::memory_order_relaxed);
  }
  batch.identity.host_only = !state_->has_device_events.load(std::memory_order_relaxed);
  batch.sequence = sequence_;
  batch.final = final;
  batch.clock = state_->clock.Snapshot();
  batch.losses = state_->losses.Take();
  const uint64_t events = EventsIn(batch);
  // The encoder takes a broken batch for a bug and stops the program, which is not ours to stop.
  const DropReason broken = CheckInvariants(batch);
  absl::Status status =
      broken == DropReason::kNone
          ? sink_->Write(batch)
          : absl::InternalError("a batch breaks its invariants: " + std::string(ToString(broken)));
  if (status.ok()) {
    ++sequence_;
    state_->batches_sent.fetch_add(1, std::memory_order_relaxed);
    state_->events_sent.fetch_add(events, std::memory_order_relaxed);
    return;
  }
  last_error_ = std::move(status);
  state_->losses.PutBack(batch.losses);
  state_->losses.Add(EventKind::kInterval, DropReason::kQueueFull, batch.intervals.size());
  state_->losses.Add(EventKind::kMark, DropReason::kQueueFull, batch.marks.size());
  state_->losses.Add(EventKind::kSample, DropReason::kQueueFull,
                     batch.samples.size() + batch.connections.size());
}

}  // namespace eroica
