// How far a rank has come, up to a moment of its own clock: its steps, its collectives, whether it
// is in a pause. Part of RankProgress, so that a restart forgets none of it. Owner: RankWindows.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "schemas/event_batch.h"
#include "schemas/rank_standing.h"
#include "stream_ops/pattern/interval.h"

namespace eroica {

// One kind of operation on one communicator; point to point: with one peer.
struct OperationKey {
  CommId communicator;
  CollectiveOperation operation = CollectiveOperation::kUnknown;
  int32_t peer = -1;
  friend auto operator<=>(const OperationKey&, const OperationKey&) = default;
};

// The pause that a rank is in once it has passed the mark; nothing where the mark says nothing of
// pauses.
std::optional<Pause> PauseAfter(const Mark& mark);

struct RankAdvance {
  // Steps that the mean is over: a job's pace of an hour ago says little of what is long now.
  static constexpr int64_t kMeanSteps = 64;
  // Kinds of operations; what a standing has room for. Of those beyond nothing is said.
  static constexpr size_t kMostOperations = 65'536;

  std::map<OperationKey, uint64_t> completed;  // every sequence number below has ended
  int64_t last_progress_ns = 0;  // when a collective last ended, or a mark last passed
  int64_t last_step = -1;        // that ended
  int64_t step_count = 0;        // that step_sum_ns is over
  int64_t step_sum_ns = 0;
  Pause pause = Pause::kNone;
  int64_t pause_since_ns = 0;

  // In any order; the same twice changes nothing.
  void Complete(const OperationKey& key, uint64_t sequence, int64_t end_ns);
  // By time, each once: a mark of a kind other than the begin and end of steps.
  void Pass(const Mark& mark);
  // By time, each once.
  void EndStep(const StepSpan& step);

  int64_t step_mean_ns() const { return step_count > 0 ? step_sum_ns / step_count : 0; }
  friend bool operator==(const RankAdvance&, const RankAdvance&) = default;
};

}  // namespace eroica
