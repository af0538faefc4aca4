// Everything that is known of one job in one window, side by side: what the operators of diagnosis
// look at. Immutable once built; no clock, no store.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/measurements/mean_step.h"
#include "diagnosis/measurements/past_windows.h"
#include "schemas/collective_summary.h"
#include "schemas/pattern_batch.h"

namespace eroica {

// Position of a rank in CrossRankView::ranks. Not the rank number: ranks may be missing.
using RankIndex = uint32_t;

struct BusyTime;   // busy_time.h
struct HostRanks;  // host_ranks.h

struct RankView {
  RankId rank;
  uint32_t role = 0;                    // ranks of one role are peers; dense from 0
  const PatternBatch* batch = nullptr;  // lives as long as the view
  // Of the batch, which lies far from those of other ranks: what loops over all ranks ask for.
  MeanStep step;
  bool silent = false;
  bool has_steps() const { return !silent && step.steps > 0; }
};

// One function over the ranks that ran it, as columns.
struct FunctionColumn {
  FunctionId function;
  const FunctionPattern* sample = nullptr;  // of any rank: name, stack, class, wait, resource
  std::vector<RankIndex> rank;              // ascending
  std::vector<float> beta;
  std::vector<float> call_ns;  // mean duration of a call
  std::vector<int64_t> critical_ns;
  std::vector<const FunctionPattern*> pattern;

  size_t size() const { return rank.size(); }
};

class CrossRankView {
 public:
  // batches: one per rank, any order; summaries: one per communicator. All must outlive the view.
  // Silent ranks are listed, without patterns.
  CrossRankView(std::span<const PatternBatch> batches, std::span<const CollectiveSummary> summaries,
                const PastWindows& past = {});

  const JobId& job() const { return job_; }
  WindowKind window_kind() const { return window_kind_; }
  int64_t window_index() const { return window_index_; }
  uint32_t world_size() const { return world_size_; }
  const std::vector<RankView>& ranks() const { return ranks_; }  // by rank number
  uint32_t role_count() const { return role_count_; }
  // By FunctionId. Without what ranks run hidden (schemas/hidden_row.h): hidden_work.h finds that.
  const std::vector<FunctionColumn>& functions() const { return functions_; }
  // The ranks that reported steps by where they run, by name; those that do not say are left out.
  const std::vector<HostRanks>& hosts() const { return *hosts_; }
  // Of each rank that has a peer with the same steps, by rank: compared once for all operators that
  // ask.
  const std::vector<BusyTime>& busy_times() const { return *busy_times_; }
  // Ranks that are late in this and earlier windows, by too little to tell in one:
  // lasting_excess.h. There, steps are windows.
  const std::vector<BusyTime>& lasting_excess() const { return *lasting_excess_; }
  // What this window will be in the job's history, past_windows.h.
  const PatternBatch& profile() const { return *profile_; }
  const RankTimes& rank_times() const { return *rank_times_; }
  const RankTimes& work_times() const { return *work_times_; }
  const RankTimes& exchanged() const { return *exchanged_; }
  std::span<const CollectiveSummary> summaries() const { return summaries_; }
  const PastWindows& past() const { return past_; }
  // Nothing where the rank or function is not in the view.
  const RankView* FindRank(RankId rank) const;
  const FunctionColumn* FindFunction(FunctionId function) const;

 private:
  JobId job_;
  WindowKind window_kind_ = WindowKind::kTime;
  int64_t window_index_ = 0;
  uint32_t world_size_ = 0;
  uint32_t role_count_ = 0;
  std::vector<RankView> ranks_;
  std::vector<FunctionColumn> functions_;
  std::shared_ptr<const std::vector<HostRanks>> hosts_;
  std::shared_ptr<const std::vector<BusyTime>> busy_times_;
  std::shared_ptr<const PatternBatch> profile_;
  std::shared_ptr<const RankTimes> rank_times_;
  std::shared_ptr<const RankTimes> work_times_;
  std::shared_ptr<const RankTimes> exchanged_;
  std::shared_ptr<const std::vector<BusyTime>> lasting_excess_;
  std::span<const CollectiveSummary> summaries_;
  PastWindows past_;
};

// Whether ranks of the job, or members of a collective, are not recorded: who waits in a collective
// may wait for one of them.
bool LacksMembers(const CrossRankView& view);

// Where the window begins and ends, in ns since 1970: by the clock of the rank that was the first
// and of the one that was the last in it. {0, 0} where nobody was heard.
std::pair<int64_t, int64_t> TimesOf(const CrossRankView& view);

// How long the window lasted, in ns: mean over the ranks, 0 without any.
double WindowLength(const CrossRankView& view);

}  // namespace eroica
