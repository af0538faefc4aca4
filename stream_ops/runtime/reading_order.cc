#include "stream_ops/runtime/reading_order.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace eroica {
namespace {

using Partitions = std::map<TopicPartition, PartitionProgress>;

class Planner {
 public:
  Planner(const Partitions& partitions, const ReadingPressure& pressure,
          const ReadingOrderOptions& options)
      : partitions_(partitions), pressure_(pressure), options_(options), bytes_(pressure.bytes) {
    for (const auto& [partition, progress] : partitions) {
      const bool unloaded = progress.state == ReadingState::kUnloaded;
      plan_[partition] = unloaded ? ReadingState::kUnloaded : ReadingState::kReading;
    }
  }

  ReadingPlan Plan() {
    MakeRoom();
    Load();
    PauseAhead();
    return std::move(plan_);
  }

 private:
  using Entry = const Partitions::value_type*;

  bool IsLoaded(const Entry& entry) const {
    return plan_.at(entry->first) != ReadingState::kUnloaded;
  }
  uint64_t Share(double share) const {
    return static_cast<uint64_t>(static_cast<double>(pressure_.bytes_max) * share);
  }

  // Of those that are not at their end.
  Entry FurthestBehind(bool loaded) const {
    Entry first = nullptr;
    for (const auto& entry : partitions_) {
      if (entry.second.at_end || IsLoaded(&entry) != loaded) continue;
      if (first == nullptr || entry.second.time_ms < first->second.time_ms) first = &entry;
    }
    return first;
  }

  // Of those that hold something and may be unloaded; those at their end are ahead of all others.
  Entry FurthestAhead(const Entry& keep) const {
    const auto rank = [](const PartitionProgress& progress) {
      return std::tuple(!progress.owes, progress.at_end, progress.time_ms, progress.held_bytes);
    };
    Entry last = nullptr;
    for (const auto& entry : partitions_) {
      if (&entry == keep || !IsLoaded(&entry) || entry.second.idle_due ||
          entry.second.held_bytes == 0 || entry.second.reread_records > options_.reread_records_max)
        continue;
      if (last == nullptr || rank(entry.second) > rank(last->second)) last = &entry;
    }
    return last;
  }

  bool Unload(const Entry& entry) {
    if (entry == nullptr) return false;
    plan_[entry->first] = ReadingState::kUnloaded;
    bytes_ -= std::min(bytes_, entry->second.held_bytes);
    return true;
  }

  void MakeRoom() {
    const Entry keep = FurthestBehind(/*loaded=*/true);
    if (keep == nullptr) return;  // nobody needs it
    while (bytes_ > Share(options_.unload_above) && Unload(FurthestAhead(keep))) {
    }
  }

  // The next one to be loaded: the furthest behind of those that have something to read, or are to
  // hear of silence.
  Entry NextToLoad() const {
    Entry first = nullptr;
    for (const auto& entry : partitions_) {
      const PartitionProgress& progress = entry.second;
      if (IsLoaded(&entry) || (progress.at_end && !progress.idle_due)) continue;
      if (first == nullptr || progress.time_ms < first->second.time_ms) first = &entry;
    }
    return first;
  }

  bool IsTurnOf(const Entry& next) const {
    return std::ranges::all_of(partitions_, [&](const auto& entry) {
      const PartitionProgress& progress = entry.second;
      return progress.at_end || !IsLoaded(&entry) ||
             (!progress.owes && next->second.time_ms < progress.time_ms);
    });
  }

  // Those that fit in; else, where its turn has come, one in place of others.
  void Load() {
    while (const Entry next = NextToLoad()) {
      if (Fits(next)) {
        LoadOne(next);
        continue;
      }
      if (!IsTurnOf(next)) return;
      while (!Fits(next) && Unload(FurthestAhead(next))) {
      }
      return LoadOne(next);
    }
  }

  bool Fits(const Entry& next) const {
    return bytes_ + next->second.held_bytes <= Share(options_.load_below);
  }

  void LoadOne(const Entry& next) {
    plan_[next->first] = ReadingState::kReading;
    bytes_ += next->second.held_bytes;
  }

  void PauseAhead() {
    if (!pressure_.later_crowded) return;
    std::optional<int64_t> first_ms;
    for (const bool loaded : {true, false}) {
      if (const Entry behind = FurthestBehind(loaded))
        first_ms = std::min(first_ms.value_or(behind->second.time_ms), behind->second.time_ms);
    }
    if (!first_ms) return;
    for (const auto& entry : partitions_) {
      const PartitionProgress& progress = entry.second;
      const bool ahead = progress.time_ms > std::max(*first_ms, kEarliestMs) + options_.ahead_ms;
      if (IsLoaded(&entry) && !progress.at_end && !progress.owes && ahead)
        plan_[entry.first] = ReadingState::kPaused;
    }
  }

  // Of a partition of which nothing was processed: no time is so early that a sum overflows.
  static constexpr int64_t kEarliestMs = std::numeric_limits<int64_t>::min() / 2;

  const Partitions& partitions_;
  const ReadingPressure& pressure_;
  const ReadingOrderOptions& options_;
  uint64_t bytes_;  // that the pool will hold
  ReadingPlan plan_;
};

}  // namespace

bool NeedsReadingOrder(const ReadingPressure& pressure, const ReadingOrderOptions& options) {
  return pressure.later_crowded ||
         static_cast<double>(pressure.bytes) >
             static_cast<double>(pressure.bytes_max) * options.unload_above;
}

ReadingPlan PlanReading(const Partitions& partitions, const ReadingPressure& pressure,
                        const ReadingOrderOptions& options) {
  return Planner(partitions, pressure, options).Plan();
}

}  // namespace eroica
