#include "diagnosis/hang/hang_watch.h"

#include <algorithm>
#include <utility>

namespace eroica {

int HangWatch::LevelOf(const RankStanding& standing) const {
  if (standing.timed_out) return 0;
  int64_t threshold_ns = options_.first_step_ns;
  if (standing.step_mean_ns > 0)
    threshold_ns =
        std::max(options_.threshold_ns, options_.threshold_steps * standing.step_mean_ns);
  if (standing.pause != Pause::kNone) threshold_ns = std::max(threshold_ns, options_.pause_ns);
  const int64_t stalled_ns = standing.stalled_ns();
  int level = -1;
  while (level < kHighestLevel && stalled_ns >> (level + 1) >= threshold_ns) ++level;
  return level;
}

HangWatch::Standstill& HangWatch::StandstillOf(int64_t step) {
  const auto known =
      standstills_.lower_bound(step < 0 ? step : std::max<int64_t>(step - kStepsApart, 0));
  if (known != standstills_.end() && known->first <= (step < 0 ? step : step + kStepsApart))
    return known->second;
  if (standstills_.size() == kMostStandstills) standstills_.erase(standstills_.begin());
  return standstills_[step];
}

void HangWatch::Add(RankStanding standing, int64_t offset) {
  job_ = standing.job;
  ++reports_;
  const RankId rank = standing.rank;
  progress_[rank].heard_at = reports_;
  Standstill& standstill = StandstillOf(standing.step);
  standstill.window = std::max(standstill.window, standing.window_index);
  standstill.world_size = std::max(standstill.world_size, standing.world_size);
  const int level = LevelOf(standing);
  if (level < 0) {
    standstill.below[rank] = standing.time_ns;
    return;
  }
  int& highest = standstill.highest.try_emplace(rank, -1).first->second;
  if (standstill.reached.size() <= static_cast<size_t>(level))
    standstill.reached.resize(static_cast<size_t>(level) + 1, 0);
  for (; highest < level; ++highest) ++standstill.reached[static_cast<size_t>(highest) + 1];
  if (level <= standstill.looked_at) return;
  std::map<int, Held>& levels = standstill.ranks[rank];
  const auto held = levels.find(level);
  if (held == levels.end()) {
    levels.emplace(level, Held{std::move(standing), offset});
  } else if (standing.time_ns < held->second.standing.time_ns) {
    held->second = {std::move(standing), offset};
  }
}

void HangWatch::Hear(const PatternBatch& batch) {
  if (batch.silent) return;
  Progress& progress = progress_[batch.rank];
  progress.last_step = std::max(progress.last_step, batch.window.last_step);
  progress.last_window = std::max(progress.last_window, batch.window.index);
  progress.heard_at = reports_;
}

bool HangWatch::HasMovedOn(RankId rank, int64_t step, const Standstill& standstill) const {
  const auto known = progress_.find(rank);
  if (known == progress_.end()) return false;
  return step >= 0 ? known->second.last_step > step + kStepsApart
                   : known->second.last_window > standstill.window;
}

std::optional<std::vector<RankId>> HangWatch::SilentAt(int64_t step, const Standstill& standstill,
                                                       int level, bool end) const {
  const auto index = static_cast<size_t>(level);
  const uint32_t standing = index < standstill.reached.size() ? standstill.reached[index] : 0;
  // Where most say nothing it is the telemetry that is gone.
  if (standing == 0 || 2 * uint64_t{standing} < standstill.world_size) return std::nullopt;
  std::vector<RankId> silent;
  if (standing == standstill.world_size) return silent;
  // Looking at every rank is for moments at which it may have changed.
  if (!end && reports_ % standing != 0) return std::nullopt;
  for (uint32_t number = 0; number < standstill.world_size; ++number) {
    const RankId rank{number};
    const auto highest = standstill.highest.find(rank);
    if (highest != standstill.highest.end() && highest->second >= level) continue;
    if (highest != standstill.highest.end() || standstill.below.contains(rank) ||
        HasMovedOn(rank, step, standstill))
      return std::nullopt;
    const auto known = progress_.find(rank);
    const bool long_ago = known != progress_.end() &&
                          reports_ - known->second.heard_at >= options_.silent_reports * standing;
    if (!end && !long_ago) return std::nullopt;
    silent.push_back(rank);
  }
  return silent;
}

HangWatch::Due HangWatch::Take(int64_t step, Standstill* standstill, int level,
                               std::vector<RankId> silent) {
  Due due{.step = step,
          .level = level,
          .standings = {},
          .view = {.job = job_,
                   .world_size = standstill->world_size,
                   .standings = {},
                   .silent = std::move(silent)}};
  for (auto& [rank, levels] : standstill->ranks) {
    const auto held = levels.lower_bound(level);
    if (held == levels.end()) continue;
    due.standings.push_back(held->second.standing);
    levels.erase(levels.begin(), levels.upper_bound(level));
  }
  for (const RankStanding& standing : due.standings) due.view.standings.push_back(&standing);
  standstill->looked_at = level;
  return due;
}

std::optional<HangWatch::Due> HangWatch::TakeDue(bool end) {
  for (auto& [step, standstill] : standstills_) {
    const int level = standstill.looked_at + 1;
    std::optional<std::vector<RankId>> silent = SilentAt(step, standstill, level, end);
    if (silent) return Take(step, &standstill, level, *std::move(silent));
  }
  return std::nullopt;
}

void HangWatch::RestoreLookedAt(int64_t step, int level) {
  Standstill& standstill = standstills_[step];
  standstill.looked_at = std::max(standstill.looked_at, level);
}

std::optional<int64_t> HangWatch::FirstOffset() const {
  std::optional<int64_t> first;
  for (const auto& [step, standstill] : standstills_) {
    for (const auto& [rank, levels] : standstill.ranks) {
      for (const auto& [level, held] : levels)
        first = std::min(first.value_or(held.offset), held.offset);
    }
  }
  return first;
}

}  // namespace eroica
