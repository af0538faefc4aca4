// The part of the loop that decides which partitions are read while memory is short.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "stream_ops/runtime/stream_thread.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

// Asking for the ends of the input may cost a round trip.
constexpr milliseconds kEndsKnownFor{100};

// What is ahead by anything has no room there.
bool IsNearlyFull(const std::shared_ptr<const MemoryPool>& pool) {
  return pool->bytes() > pool->bytes_max() / 4 * 3;
}

}  // namespace

void StreamThread::NoteRead(const ConsumerRecord& record, TaskState* state) {
  if (record.offset >= state->reread_until) state->time_ms = record.timestamp_ms;
}

ReadingPressure StreamThread::Pressure() const {
  ReadingPressure pressure;
  if (stage_.memory != nullptr) {
    pressure.bytes = stage_.memory->bytes();
    pressure.bytes_max = stage_.memory->bytes_max();
  }
  pressure.later_crowded =
      std::ranges::any_of(options_.later_pools, [](const auto& pool) { return pool->IsCrowded(); });
  return pressure;
}

// What is not used is said, with what to do about it.
void StreamThread::LogLate(TimePoint now) {
  const auto unused = probe_.events_unused.find(DropReason::kLate);
  const uint64_t late = unused == probe_.events_unused.end() ? 0 : unused->second;
  const uint64_t new_forced = probe_.windows_forced - forced_logged_;
  const uint64_t new_late = late - late_logged_;
  if (new_forced == 0 && new_late == 0) return;
  if (!late_log_.Due(now)) return;
  forced_logged_ = probe_.windows_forced;
  late_logged_ = late;
  if (new_forced > 0) {
    spdlog::warn(
        "stage={} closed {} windows before all had come, as its memory is full ({} MiB); {} events "
        "came too late: findings about them stand on parts. Raise runtime.memory_mib, add nodes, "
        "or "
        "let windows have fewer steps (EROICA_WINDOW_STEPS)",
        stage_.name, new_forced, Pressure().bytes_max >> 20, new_late);
    return;
  }
  spdlog::warn(
      "stage={} {} events came after their windows had closed and are not used: see "
      "docs/TROUBLESHOOTING.md, events are lost or late",
      stage_.name, new_late);
}

absl::Status StreamThread::OrderReading(TimePoint now) {
  if (!options_.idle_timeout) return absl::OkStatus();
  const ReadingPressure pressure = Pressure();
  if (!reading_ordered_ && !NeedsReadingOrder(pressure, options_.reading_order))
    return absl::OkStatus();
  const auto progress = MeasureReading(now);
  if (!progress.ok()) return progress.status();
  ReadingOrderOptions order = options_.reading_order;
  if (std::ranges::any_of(options_.later_pools, IsNearlyFull)) order.ahead_ms = 0;
  const absl::Status status = FollowPlan(PlanReading(*progress, pressure, order), now);
  probe_.tasks_waiting = static_cast<uint64_t>(std::ranges::count_if(tasks_, [](const auto& entry) {
    return entry.second.read != ReadingState::kReading || entry.second.IsRereading();
  }));
  reading_ordered_ = probe_.tasks_waiting > 0;
  if (!reading_ordered_ || !status.ok()) return status;
  if (const std::optional<uint64_t> not_logged = order_log_.Due(now)) {
    spdlog::info(
        "stage={} memory is short ({} of {} MiB here{}): {} of {} partitions wait for those that "
        "are further behind not_logged={}",
        stage_.name, pressure.bytes >> 20, pressure.bytes_max >> 20,
        pressure.later_crowded ? ", a later stage is crowded" : "", probe_.tasks_waiting,
        tasks_.size(), *not_logged);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<TopicPartition, PartitionProgress>> StreamThread::MeasureReading(
    TimePoint now) {
  if (!ends_known_at_ || now - *ends_known_at_ >= kEndsKnownFor) {
    absl::StatusOr<std::optional<Ends>> ends = AskEnds();
    if (!ends.ok()) return ends.status();
    known_ends_ = std::move(*ends).value_or(Ends());
    for (const auto& [partition, state] : tasks_) {
      if (known_ends_.contains(partition)) continue;
      const absl::StatusOr<int64_t> end = consumer_->EndOffset(partition);
      if (!end.ok()) return end.status();
      known_ends_[partition] = *end;
    }
    ends_known_at_ = now;
  }
  const absl::StatusOr<bool> upstream = upstream_.CaughtUp(now);
  if (!upstream.ok()) return upstream.status();
  std::map<TopicPartition, PartitionProgress> all;
  for (const auto& [partition, state] : tasks_) {
    PartitionProgress& progress = all[partition];
    const bool unloaded = state.read == ReadingState::kUnloaded;
    const int64_t next = state.task->next_offset().value_or(0);
    const absl::StatusOr<int64_t> position = consumer_->Position(partition);
    if (!position.ok()) return position.status();
    const auto end = known_ends_.find(partition);
    progress.state = state.read;
    progress.time_ms = state.time_ms;
    // Of what is read again, the part that nobody has processed yet counts.
    const bool all_read =
        end != known_ends_.end() && std::max(*position, state.reread_until) >= end->second;
    progress.at_end = all_read && (unloaded || !state.IsRereading());
    progress.held_bytes = unloaded ? state.unloaded_bytes : state.task->held_bytes();
    progress.reread_records = unloaded ? 0 : state.task->reread_records();
    progress.owes = !unloaded && state.reread_until > 0 &&
                    next - state.loaded_from < 3 * (state.reread_until - state.loaded_from);
    const bool silent =
        *upstream && !state.idle_told && now - state.active_at >= *options_.idle_timeout;
    progress.idle_due = silent && all_read;
  }
  return all;
}

// What is unloaded has been committed before: it is read again from there.
absl::Status StreamThread::FollowPlan(const ReadingPlan& plan, TimePoint now) {
  const bool unloads = std::ranges::any_of(plan, [this](const auto& entry) {
    return entry.second == ReadingState::kUnloaded &&
           tasks_.at(entry.first).read != ReadingState::kUnloaded;
  });
  if (unloads) {
    if (const absl::Status status = Commit(now); !status.ok()) return status;
  }
  for (const auto& [partition, target] : plan) {
    TaskState& state = tasks_.at(partition);
    if (state.read == target) continue;
    if (const absl::Status status = SetReading(partition, target, &state); !status.ok())
      return status;
  }
  return unloads ? CommitToGroup(false) : absl::OkStatus();
}

absl::Status StreamThread::SetReading(const TopicPartition& partition, ReadingState target,
                                      TaskState* state) {
  if (target != ReadingState::kReading && state->read == ReadingState::kReading) {
    if (const absl::Status status = consumer_->Pause(partition); !status.ok()) return status;
    state->read = ReadingState::kPaused;
  }
  if (target == ReadingState::kUnloaded) {
    const int64_t next = state->task->next_offset().value_or(0);
    const uint64_t held_bytes = state->task->held_bytes();
    if (const absl::Status status = state->task->Unload(stage_.new_processor()); !status.ok()) {
      restart_needed_ = true;
      return status;
    }
    state->unloaded_bytes = held_bytes;
    state->reread_until = std::max(state->reread_until, next);
    state->read = ReadingState::kUnloaded;
    ++probe_.unloads;
    return absl::OkStatus();
  }
  if (state->read == ReadingState::kUnloaded) {
    if (const absl::Status status = Load(partition, state); !status.ok()) return status;
  }
  if (target == ReadingState::kPaused) return absl::OkStatus();
  if (const absl::Status status = consumer_->Resume(partition); !status.ok()) return status;
  state->read = ReadingState::kReading;
  return absl::OkStatus();
}

// Its partition is paused still.
absl::Status StreamThread::Load(const TopicPartition& partition, TaskState* state) {
  state->loaded_from = state->task->next_offset().value_or(0);
  if (const absl::Status status = consumer_->Seek(partition, state->loaded_from); !status.ok())
    return status;
  state->read = ReadingState::kPaused;
  return absl::OkStatus();
}

// What the log could not give of the partition before this offset.
void StreamThread::SkipDamaged(const TopicPartition& partition, int64_t before) {
  if (damaged_.empty()) return;
  const auto task = tasks_.find(partition);
  std::erase_if(damaged_, [&](const DamagedRange& range) {
    if (range.partition != partition || range.end > before) return false;
    if (task != tasks_.end()) task->second.task->Skip(range);
    return true;
  });
}

}  // namespace eroica
