#include "stream_ops/runtime/node_health.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "schemas/check.h"

namespace eroica {
namespace {

// A broker ends a transaction of ours after ten seconds.
constexpr std::chrono::seconds kHeldMax{30};

}  // namespace

NodeHealth::NodeHealth(NodeHealthOptions options, TimePoint start)
    : options_(options), snapshots_{{start, {}}} {}

bool NodeHealth::Observe(const std::map<std::string, StageProbe>& probes, TimePoint now) {
  Snapshot snapshot{now, {}};
  for (const auto& [stage, probe] : probes) {
    const auto late = probe.events_unused.find(DropReason::kLate);
    Counted& counted = snapshot.stages[stage];
    counted = {.received = probe.records_received + probe.records_unreadable,
               .dead_letters = probe.dead_letters,
               .windows_forced = probe.windows_forced,
               .events_late = late == probe.events_unused.end() ? 0 : late->second};
    // By records, not by ranges of them.
    if (probe.records_unreadable > 0)
      counted.dead_letters[DropReason::kUnreadable] = probe.records_unreadable;
  }
  const MutexLock lock(mutex_);
  EROICA_CHECK(now >= snapshots_.back().at);
  constexpr int kSnapshotsOfPeriod = 60;  // however often somebody observes
  // The first one that stays is at the beginning of the period, or just before.
  while (snapshots_.size() > 1 && snapshots_[1].at <= now - options_.period) snapshots_.pop_front();
  std::vector<std::string> reasons;
  for (const auto& [stage, counted] : snapshot.stages) {
    const Counted& before = snapshots_.front().stages[stage];
    for (std::string reason :
         {ReasonOf(stage, before, counted), ForcedReason(stage, before, counted)}) {
      if (!reason.empty()) reasons.push_back(std::move(reason));
    }
  }
  for (const auto& [stage, probe] : probes) {
    if (probe.consumer.held_seconds >= static_cast<uint64_t>(kHeldMax.count()))
      reasons.push_back(
          fmt::format("A transaction of {} s holds {} records of stage {} back: the log names its "
                      "partition, and what ends it.",
                      probe.consumer.held_seconds, probe.consumer.held_records, stage));
  }
  if (now - snapshots_.back().at >= options_.period / kSnapshotsOfPeriod)
    snapshots_.push_back(std::move(snapshot));
  const bool changed = reasons.empty() != reasons_.empty();
  reasons_ = std::move(reasons);
  if (changed && !reasons_.empty()) ++times_unhealthy_;
  return changed;
}

std::string NodeHealth::ReasonOf(const std::string& stage, const Counted& before,
                                 const Counted& now) const {
  uint64_t dead_letters = 0;
  std::pair<uint64_t, DropReason> most{0, DropReason::kNone};
  for (const auto& [reason, count] : now.dead_letters) {
    const auto known = before.dead_letters.find(reason);
    const uint64_t added = count - (known == before.dead_letters.end() ? 0 : known->second);
    dead_letters += added;
    most = std::max(most, {added, reason});
  }
  const uint64_t received = now.received - before.received;
  const double share = static_cast<double>(dead_letters) /
                       static_cast<double>(std::max({received, dead_letters, uint64_t{1}}));
  if (dead_letters < options_.dead_letters_min || share <= options_.dead_letter_share_max)
    return "";
  return fmt::format(
      "Stage {} could not use {} of the {} records of the last {} s, mostly {}: they are on the "
      "dead-letter topic (eroica deadletter list).",
      stage, dead_letters, std::max(received, dead_letters),
      std::chrono::duration_cast<std::chrono::seconds>(options_.period).count(),
      eroica::ToString(most.second));
}

std::string NodeHealth::ForcedReason(const std::string& stage, const Counted& before,
                                     const Counted& now) const {
  const uint64_t forced = now.windows_forced - before.windows_forced;
  if (forced == 0) return "";
  return fmt::format(
      "Stage {} closed {} windows of the last {} s before all had come, as its memory is full, and "
      "{} events came too late: findings about them stand on parts (raise runtime.memory_mib or "
      "add nodes).",
      stage, forced, std::chrono::duration_cast<std::chrono::seconds>(options_.period).count(),
      now.events_late - before.events_late);
}

bool NodeHealth::healthy() const {
  const MutexLock lock(mutex_);
  return reasons_.empty();
}

std::vector<std::string> NodeHealth::reasons() const {
  const MutexLock lock(mutex_);
  return reasons_;
}

uint64_t NodeHealth::times_unhealthy() const {
  const MutexLock lock(mutex_);
  return times_unhealthy_;
}

std::string NodeHealth::Summary() const {
  const MutexLock lock(mutex_);
  if (!reasons_.empty()) return fmt::format("unhealthy: {}", fmt::join(reasons_, " "));
  return times_unhealthy_ == 0 ? "healthy"
                               : fmt::format("healthy, after it was unhealthy {} time{}",
                                             times_unhealthy_, times_unhealthy_ == 1 ? "" : "s");
}

}  // namespace eroica
