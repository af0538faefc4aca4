// PatternBatch in memory: the behaviour patterns of one rank in one window, what summarize says of
// the rank to diagnose. Wire: pattern.fbs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schemas/capture_gap.h"
#include "schemas/duration_histogram.h"
#include "schemas/event_batch.h"
#include "schemas/function.h"
#include "schemas/ids.h"
#include "schemas/pause.h"
#include "schemas/window.h"

namespace eroica {

// How much of what happened the patterns speak of.
struct Completeness {
  uint64_t events = 0;  // used
  uint64_t late = 0;    // came after their window had closed
  // reported lost by the producer, missing from the batch sequence, or without room in what the
  // stage sends on (collectives and steps)
  uint64_t lost = 0;
  uint64_t sampled = 0;  // left out on purpose
  uint64_t outside = 0;  // lay between the training steps that make up the windows
  friend bool operator==(const Completeness&, const Completeness&) = default;
};

// The stages of a step, as the marks divide it (StageFrontier, arXiv 2606.06751).
enum class StepStage : uint8_t { kData = 0, kForward = 1, kBackward = 2, kOptimizer = 3 };
inline constexpr int kStepStageCount = 4;

struct StepRecord {
  int64_t id = 0;
  int64_t duration_ns = 0;
  int64_t peer_wait_ns = 0;  // exposed time in collectives and in functions that wait for peers
  // adds up to duration_ns; all zero where the step has no marks of its stages
  std::array<int64_t, kStepStageCount> stage_ns{};
  Pause pause = Pause::kNone;  // that the step, or a part of it, was spent in
  bool has_stages() const { return stage_ns != std::array<int64_t, kStepStageCount>{}; }
  friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

// The three numbers of EROICA section 4.2 and what lies under them.
struct FunctionPattern {
  FunctionId function;
  std::string name;   // leaf name
  std::string stack;  // callers, outermost first, joined by kStackSeparator
  FunctionClass function_class = FunctionClass::kCpuOp;
  WaitKind wait = WaitKind::kNone;
  Resource resource = Resource::kNone;
  uint64_t resource_samples = 0;  // 0: mu and sigma are unknown
  // share of the window on the rank's critical path, 0 .. 1 (can add up to more than 1 over
  // functions)
  double beta = 0;
  double mu = 0;     // mean of the resource over the critical execution durations, 0 .. 1
  double sigma = 0;  // its standard deviation, likewise
  uint64_t count = 0;
  int64_t total_ns = 0;
  int64_t critical_ns = 0;
  double duration_mean_ns = 0;  // Welford
  double duration_m2 = 0;
  int64_t duration_min_ns = 0;
  int64_t duration_max_ns = 0;
  uint64_t bytes = 0;
  uint32_t active_steps = 0;  // training steps of the window in which it was on the critical path
  DurationHistogram histogram;
  friend bool operator==(const FunctionPattern&, const FunctionPattern&) = default;
};

// What the connections from the rank to a peer carried in the window, see ConnectionSample.
struct ConnectionPattern {
  uint32_t peer = 0;
  Resource resource = Resource::kNic;
  uint64_t bytes = 0;
  int64_t busy_ns = 0;
  uint64_t retransmits = 0;
  uint8_t channels = 0;   // the most of any sample; 0: not known
  CommId communicator{};  // one of PatternBatch::communicators; 0: not known
  friend bool operator==(const ConnectionPattern&, const ConnectionPattern&) = default;
};

// How far a resource was used in the window, whatever ran: of its samples, all of equal weight.
// (What functions made of it is their mu and sigma.)
struct ResourceLevel {
  Resource resource = Resource::kNone;
  double mean = 0;  // 0 .. 1
  float max = 0;
  uint64_t samples = 0;  // at least 1
  friend bool operator==(const ResourceLevel&, const ResourceLevel&) = default;
};

// A capture that stood still in the window.
struct SuspendedCapture {
  CaptureGap gap;            // as it was last
  int64_t suspended_ns = 0;  // of the window, more than 0
  friend bool operator==(const SuspendedCapture&, const SuspendedCapture&) = default;
};

struct PatternBatch {
  JobId job;
  RankId rank;
  uint32_t world_size = 1;
  std::string role;
  std::string host;
  int32_t device = -1;
  uint32_t pid = 0;
  Window window;
  int64_t watermark_ns = 0;
  bool final = false;   // no further window of this rank follows
  bool silent = false;  // RankSilent: the rank sent nothing for this window
  bool host_only = false;
  Completeness completeness;
  std::vector<StepRecord> steps;          // by id
  std::vector<FunctionPattern> patterns;  // by FunctionId, so that equal content is equal bytes
  // functions too small for a row of their own
  std::array<int64_t, kFunctionClassCount> folded_critical_ns{};
  uint32_t folded_functions = 0;
  std::vector<CommId> communicators;           // that the rank is a member of, sorted
  std::vector<ConnectionPattern> connections;  // by peer, resource and communicator
  std::vector<ResourceLevel> levels;           // by resource, each once, of those that were sampled
  std::vector<SuspendedCapture> suspended;     // by capture, each once
  friend bool operator==(const PatternBatch&, const PatternBatch&) = default;
};

}  // namespace eroica
