// One diagnosed window as people ask for it: who took how long in what, who waited for whom, what
// links carried. Columns, taken from the view that the operators were asked about; bounded,
// whatever the job reports. Immutable once taken; read by any thread.
//
// Times are nanoseconds; per step where a name says so (of the whole window where its rank ran no
// steps). Ranks are named by their place in WindowDetail::ranks, which is ordered by rank number.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"
#include "diagnosis/suppressed_steps.h"
#include "schemas/window.h"
#include "stream_ops/rank_contest.h"

namespace eroica {

// The steps of a window, oldest first. Columns of equal length. In a synchronizing job all ranks'
// steps last equally long; the rank that is busy longest is the one that the others wait for.
struct StepColumns {
  std::vector<int64_t> step;
  std::vector<int64_t> median_ns;       // over the ranks: of an even sample of them in large jobs
  std::vector<int64_t> max_ns;          // over all
  std::vector<int64_t> busy_median_ns;  // of the step less its waits for peers, likewise
  std::vector<int64_t> busy_max_ns;
  std::vector<uint32_t> busiest_rank;
};

// What a list of windows shows of one.
struct WindowSummary {
  WindowKind kind = WindowKind::kTime;
  int64_t index = 0;
  int64_t first_step = -1;  // -1: no steps
  int64_t last_step = -1;
  int64_t start_ns = 0;  // by the clock of the lowest rank that is not silent
  int64_t end_ns = 0;
  int64_t timestamp_ms = 0;  // latest event time of its records
  uint32_t world_size = 0;
  uint32_t ranks_seen = 0;
  uint32_t ranks_silent = 0;
  uint32_t roles = 0;
  double median_step_ns = 0;  // over the ranks, of their mean
  double max_step_ns = 0;
  std::optional<uint32_t> max_step_rank;
  Completeness completeness;  // of all ranks together
  SuppressedSteps suppressed;
  uint32_t functions = 0;          // in the detail
  uint32_t functions_dropped = 0;  // that were too small for it
  std::vector<std::string> finding_ids;
  std::vector<ContestedRank> contested;  // until this window; ascending
  bool last_of_job = false;
  bool early = false;  // not all had come, but diagnose.memory_mib was full; not kept in the store
};

struct RankRow {
  uint32_t rank = 0;
  uint32_t role = 0;       // ranks of one role are peers
  uint32_t host = 0;       // index into WindowDetail::hosts
  uint32_t role_name = 0;  // index into WindowDetail::role_names
  int32_t device = -1;
  uint32_t pid = 0;
  bool silent = false;
  float steps = 0;
  double step_ns = 0;
  double busy_ns = 0;
  double wait_ns = 0;
  double peers_busy_ns = 0;  // 0: it has no peers
  double excess_ns = 0;
  Completeness completeness;
  std::vector<ResourceLevel> levels;
  // By class: the critical time that any one function without a row of this rank may have had, at
  // most.
  std::array<float, kFunctionClassCount> unlisted_ns_per_step{};
};

// One function over the ranks that ran it. Columns of equal length, by rank.
struct FunctionSnapshot {
  FunctionId id;
  std::string name;
  std::string stack;
  FunctionClass function_class = FunctionClass::kCpuOp;
  WaitKind wait = WaitKind::kNone;
  Resource resource = Resource::kNone;
  std::vector<uint32_t> rank;  // places in WindowDetail::ranks, ascending
  std::vector<float> beta;
  std::vector<float> mu;
  std::vector<float> sigma;
  std::vector<float> call_ns;
  std::vector<float> critical_ns_per_step;
  std::vector<uint32_t> count;
};

struct MemberRow {
  uint32_t rank = 0;  // rank number
  uint64_t operations = 0;
  int64_t wait_ns = 0;
  int64_t exposed_wait_ns = 0;
  uint64_t arrived_last = 0;
  int64_t lateness_ns = 0;
  int64_t caused_wait_ns = 0;
  std::string blocker;  // what it ran when it arrived last, mostly; empty: it never did
};

struct CommunicatorSnapshot {
  CommId id;
  std::string name;
  std::string description;
  uint64_t operations = 0;
  uint64_t incomplete = 0;
  uint64_t bytes = 0;
  int64_t transfer_ns = 0;
  std::vector<uint32_t> missing;   // rank numbers
  std::vector<MemberRow> members;  // by rank
  std::vector<PairSummary> pairs;  // point to point

  // Exposed, of all members and pairs.
  int64_t wait_ns() const;
};

// From a rank to a peer, by rank numbers.
struct LinkRow {
  uint32_t source = 0;
  uint32_t destination = 0;
  Resource resource = Resource::kNic;
  uint64_t bytes = 0;
  int64_t busy_ns = 0;
  uint64_t retransmits = 0;
};

struct WindowDetail {
  std::vector<std::string> hosts;
  std::vector<std::string> role_names;
  std::vector<RankRow> ranks;                       // by rank number
  std::vector<FunctionSnapshot> functions;          // by what one rank spends in it, largest first
  std::vector<CommunicatorSnapshot> communicators;  // by exposed wait, largest first
  std::vector<LinkRow> links;                       // by source and destination
  uint64_t links_dropped = 0;                       // carried less than those
  uint64_t bytes = 0;                               // that all of it takes, about
};

struct WindowSnapshot {
  WindowSummary summary;
  StepColumns steps;
  std::shared_ptr<const WindowDetail> detail;  // nullptr: let go of, for want of memory
};

// How much is taken of one window at most.
struct SnapshotLimits {
  size_t function_rows = 400'000;  // ranks x functions: 40 functions of 10,000 ranks
  size_t functions = 1'024;
  size_t links = 100'000;
  size_t steps = 4'096;        // the newest
  size_t sampled_ranks = 255;  // for the median of a single step
  // Functions without a row were critical for less than this share of their window
  // (SummarizeOptions).
  double fold_below = 1;
};

// functions and finding_ids are left empty: they are the caller's, and the snapshot's.
WindowSummary SummarizeWindow(const CrossRankView& view, const SuppressedSteps& suppressed,
                              int64_t timestamp_ms);
// summary: of the same view.
WindowSnapshot TakeSnapshot(const CrossRankView& view, WindowSummary summary,
                            const SnapshotLimits& limits = {});

}  // namespace eroica
