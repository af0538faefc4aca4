// Gathers where the ranks of one job stand, and says when they have all stood for long enough to
// ask why. Pure: event time of each rank only, no clock, no store.
//
// A rank stands when its report says that nothing got on for longer than its threshold, which grows
// with the job's own pace (EROICA's blocked rule, METHODS 1.4). Only times of one rank are
// compared. One standstill is looked at when every rank of the world stands in it (or is silent),
// and again each time that all have stood twice as long: level n is 2^n thresholds. Of each rank
// and level the earliest report counts, so that neither the order of arrival nor repetitions show
// in the view. Reports belong to one standstill when their steps differ by two at most: hosts run
// ahead of their devices. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "diagnosis/hang/hang_view.h"
#include "schemas/pattern_batch.h"

namespace eroica {

struct HangOptions {
  int64_t threshold_ns = int64_t{10} * 1'000'000'000;
  int64_t threshold_steps = 5;  // or so many mean steps, if that is more
  // before any step has ended: initialization, compilation
  int64_t first_step_ns = int64_t{300} * 1'000'000'000;
  int64_t pause_ns = int64_t{600} * 1'000'000'000;  // in a checkpoint or an evaluation
  // a rank that was heard of is silent when each of the others has reported so often since
  uint64_t silent_reports = 10;
};

class HangWatch {
 public:
  explicit HangWatch(const HangOptions& options = {}) : options_(options) {}

  // How long the rank has stood: level, -1 for less than its threshold.
  int LevelOf(const RankStanding& standing) const;

  // offset: of the record.
  void Add(RankStanding standing, int64_t offset);
  // A window of the rank has closed.
  void Hear(const PatternBatch& batch);

  // All ranks as they stood at a level of a standstill.
  struct Due {
    int64_t step = -1;  // by which the standstill is known
    int level = 0;
    std::vector<RankStanding> standings;
    HangView view;  // of those
  };
  // The next one that is to be looked at. end: nothing more will come; who said nothing is silent.
  std::optional<Due> TakeDue(bool end);
  // Levels up to this one have been looked at, before a restart.
  void RestoreLookedAt(int64_t step, int level);

  // Of the first record that is still needed.
  std::optional<int64_t> FirstOffset() const;

 private:
  struct Held {
    RankStanding standing;
    int64_t offset = 0;
  };
  struct Standstill {
    int looked_at = -1;                           // levels up to here
    std::map<RankId, std::map<int, Held>> ranks;  // by level; only those that are not looked at yet
    std::map<RankId, int> highest;                // level of the rank
    std::vector<uint32_t> reached;                // by level: ranks that have stood for so long
    std::map<RankId, int64_t> below;              // ranks whose reports are under their threshold
    int64_t window = 0;                           // the latest of any report
    // the largest of any report: a job that goes on with fewer ranks does not wait for the others
    uint32_t world_size = 0;
  };
  static constexpr int kHighestLevel = 24;
  static constexpr int64_t kStepsApart = 2;
  static constexpr size_t kMostStandstills = 8;

  Standstill& StandstillOf(int64_t step);
  bool HasMovedOn(RankId rank, int64_t step, const Standstill& standstill) const;
  // Nothing where some rank neither stands for so long nor is silent.
  std::optional<std::vector<RankId>> SilentAt(int64_t step, const Standstill& standstill, int level,
                                              bool end) const;
  Due Take(int64_t step, Standstill* standstill, int level, std::vector<RankId> silent);

  struct Progress {
    int64_t last_step = -1;
    int64_t last_window = -1;
    uint64_t heard_at = 0;  // how many reports of others had come when it was last heard of
  };
  HangOptions options_;
  JobId job_;
  uint64_t reports_ = 0;
  std::map<RankId, Progress> progress_;
  std::map<int64_t, Standstill> standstills_;  // by the step of the first report
};

}  // namespace eroica
