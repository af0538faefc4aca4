#include "stream_ops/diagnose/job_windows.h"

#include <algorithm>

namespace eroica {

PatternBatch OutlineOf(const PatternBatch& batch) {
  PatternBatch outline;
  outline.job = batch.job;
  outline.rank = batch.rank;
  outline.world_size = batch.world_size;
  outline.pid = batch.pid;
  outline.window = batch.window;
  outline.final = batch.final;
  outline.communicators = batch.communicators;
  return outline;
}

CollectiveSummary OutlineOf(const CollectiveSummary& summary) {
  CollectiveSummary outline;
  outline.job = summary.job;
  outline.communicator = summary.communicator;
  outline.world_size = summary.world_size;
  outline.window = summary.window;
  return outline;
}

void JobWindows::RestoreClosed(WindowId last_closed) {
  last_closed_[last_closed.first] = last_closed.second;
  if (last_closed.first == WindowKind::kSteps) runs_.Close(last_closed.second);
}

bool JobWindows::Number(RankId rank, Window* window) {
  const std::optional<int64_t> number = runs_.NumberOf(*window, ranks_[rank].place);
  if (number) window->index = *number;
  return number.has_value();
}

bool JobWindows::Number(CommId communicator, Window* window) {
  RunPlace& place = communicators_[communicator].place;
  const std::optional<int64_t> number = runs_.NumberOf(*window, place, /*may_begin=*/false);
  if (number) window->index = *number;
  return number.has_value();
}

void JobWindows::NumberOpen(RankId rank, Window* window) {
  window->index = runs_.NumberOfOpen(*window, ranks_[rank].place).value_or(window->index);
}

bool JobWindows::IsInNewestRun(RankId rank) const {
  const auto known = ranks_.find(rank);
  return known == ranks_.end() || !known->second.place.known ||
         known->second.place.run == runs_.newest_run();
}

bool JobWindows::IsClosed(WindowId id) const {
  const auto it = last_closed_.find(id.first);
  return it != last_closed_.end() && id.second <= it->second;
}

JobWindow& JobWindows::Open(WindowId id, int64_t offset, int64_t timestamp_ms) {
  const auto [it, fresh] = windows_.try_emplace(id);
  if (fresh) it->second.first_offset = offset;
  it->second.timestamp_ms = std::max(it->second.timestamp_ms, timestamp_ms);
  return it->second;
}

// The job goes on in other processes: whoever of the old ones said its last word may come back.
void JobWindows::StartAnew() {
  if (!has_last_words_) return;
  for (auto& [rank, progress] : ranks_) progress.final = false;
  has_last_words_ = false;
  checked_.ranks = 0;
}

JobWindows::Added JobWindows::Add(PatternBatch batch, int64_t offset, int64_t timestamp_ms) {
  const WindowId id{batch.window.kind, batch.window.index};
  Progress& progress = ranks_[batch.rank];
  const bool is_other_process = progress.pid != batch.pid && progress.pid != 0;
  if (id > progress.reached && (is_other_process || progress.final)) StartAnew();
  if (id >= progress.reached) progress.pid = batch.pid;
  progress.reached = std::max(progress.reached, id);
  progress.final = progress.final || batch.final;
  has_last_words_ = has_last_words_ || batch.final;
  if (id > newest_) newest_world_size_ = 0;
  newest_ = std::max(newest_, id);
  if (id == newest_) newest_world_size_ = std::max(newest_world_size_, batch.world_size);
  if (IsClosed(id)) return Added::kClosed;
  JobWindow& window = Open(id, offset, timestamp_ms);
  window.world_size = std::max(window.world_size, batch.world_size);
  // A rank that is past the window may still report it: its communicators have not been looked at.
  if (checked_.id == id)
    checked_.communicators_of = std::min(checked_.communicators_of, batch.rank.value);
  return window.batches.try_emplace(batch.rank, std::move(batch)).second ? Added::kAdded
                                                                         : Added::kDuplicate;
}

JobWindows::Added JobWindows::Add(CollectiveSummary summary, int64_t offset, int64_t timestamp_ms) {
  const WindowId id{summary.window.kind, summary.window.index};
  Progress& progress = communicators_[summary.communicator];
  progress.reached = std::max(progress.reached, id);
  if (IsClosed(id)) return Added::kClosed;
  JobWindow& window = Open(id, offset, timestamp_ms);
  window.summaries_world_size = std::max(window.summaries_world_size, summary.world_size);
  return window.summaries.try_emplace(summary.communicator, std::move(summary)).second
             ? Added::kAdded
             : Added::kDuplicate;
}

bool JobWindows::Passed(const Progress* progress, WindowId id) const {
  return progress != nullptr && (progress->final || progress->reached > id);
}

bool JobWindows::HasCommunicators(const JobWindow& window, const PatternBatch& batch,
                                  WindowId id) const {
  return std::all_of(
      batch.communicators.begin(), batch.communicators.end(), [&](CommId communicator) {
        if (window.summaries.contains(communicator)) return true;
        const auto progress = communicators_.find(communicator);
        return Passed(progress == communicators_.end() ? nullptr : &progress->second, id);
      });
}

// A summary may come before all of the batches that it was made of: they are on other ways.
uint32_t JobWindows::WorldOf(const JobWindow& window) const {
  if (!window.batches.empty()) return window.world_size;
  return newest_world_size_ > 0 ? newest_world_size_ : window.summaries_world_size;
}

std::optional<WindowId> JobWindows::OldestComplete() {
  const std::optional<WindowId> oldest = Oldest();
  if (!oldest) return std::nullopt;
  const JobWindow& window = windows_.at(*oldest);
  if (checked_.id != *oldest) checked_ = {.id = *oldest};
  const uint32_t world_size = WorldOf(window);
  for (uint32_t& rank = checked_.ranks; rank < world_size; ++rank) {
    if (window.batches.contains(RankId{rank})) continue;
    const auto progress = ranks_.find(RankId{rank});
    if (!Passed(progress == ranks_.end() ? nullptr : &progress->second, *oldest))
      return std::nullopt;
  }
  for (auto it = window.batches.lower_bound(RankId{checked_.communicators_of});
       it != window.batches.end(); ++it) {
    checked_.communicators_of = it->first.value;
    if (!HasCommunicators(window, it->second, *oldest)) return std::nullopt;
  }
  return oldest;
}

std::optional<WindowId> JobWindows::Oldest() const {
  if (windows_.empty()) return std::nullopt;
  return windows_.begin()->first;
}

bool JobWindows::BeginsRun(WindowId id) const {
  const auto last = last_closed_.find(id.first);
  return id.first == WindowKind::kSteps && last != last_closed_.end() &&
         runs_.RunOf(last->second) != runs_.RunOf(id.second);
}

JobWindow JobWindows::Close(WindowId id) {
  auto node = windows_.extract(id);
  JobWindow window = node.empty() ? JobWindow() : std::move(node.mapped());
  RestoreClosed(id);
  return window;
}

std::optional<int64_t> JobWindows::FirstOffset() const {
  std::optional<int64_t> first;
  for (const auto& [id, window] : windows_)
    first = std::min(first.value_or(window.first_offset), window.first_offset);
  return first;
}

}  // namespace eroica
