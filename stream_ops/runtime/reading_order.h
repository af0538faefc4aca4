// In which order a stage reads its partitions while memory is short, so that a backlog is read in
// step by event time and within its bound. Pure: decides from what its caller has measured.
//
// As long as there is room, all partitions are read. Two things end that:
//   - a later stage is crowded: what comes out of order waits there. Then only the partitions that
//     are furthest behind are read, the others are paused.
//   - the stage's own pool is nearly full. Then the tasks that are furthest ahead are unloaded:
//     they let go of what is in their open windows, and read it again from the log when their turn
//     comes. The log is where it waits.
// A partition that was read to its end, or has no record, holds nobody up. A task that was loaded
// again is let read on until it has read twice what it had to read again, so that no more than half
// as much again is read of a long backlog.
#pragma once

#include <cstdint>
#include <limits>
#include <map>

#include "stream_ops/log/log.h"

namespace eroica {

enum class ReadingState : uint8_t {
  kReading = 0,
  kPaused = 1,    // its task keeps what it has
  kUnloaded = 2,  // paused, and its task has let go of what can be read again
};

struct ReadingOrderOptions {
  // How far a partition may be ahead of the one furthest behind while a later stage is crowded.
  int64_t ahead_ms = 2'000;
  // Of the stage's pool: fuller, tasks are unloaded; a task is loaded where it fits in below.
  double unload_above = 0.75;
  double load_below = 0.5;
  // A task that would have more to read again stays, as where a rank has kept its window open for
  // hours.
  int64_t reread_records_max = 65'536;
};

// What is known of a partition and its task.
struct PartitionProgress {
  ReadingState state = ReadingState::kReading;
  // Event time of the newest record that was processed.
  int64_t time_ms = std::numeric_limits<int64_t>::min();
  bool at_end = false;         // nothing is there that was not processed
  uint64_t held_bytes = 0;     // by the task; of an unloaded one: before
  int64_t reread_records = 0;  // that it must read again where it is unloaded now
  // It has not read twice what it had to read again since it was loaded.
  bool owes = false;
  bool idle_due = false;  // it is to hear that nothing comes any more, loaded and with all it had
};

struct ReadingPressure {
  uint64_t bytes = 0;  // in the stage's pool
  uint64_t bytes_max = std::numeric_limits<uint64_t>::max();
  bool later_crowded = false;
};

using ReadingPlan = std::map<TopicPartition, ReadingState>;

// Whether anything but "read all" may be the plan.
bool NeedsReadingOrder(const ReadingPressure& pressure, const ReadingOrderOptions& options);

// The state that each partition is to be in.
ReadingPlan PlanReading(const std::map<TopicPartition, PartitionProgress>& partitions,
                        const ReadingPressure& pressure, const ReadingOrderOptions& options);

}  // namespace eroica
