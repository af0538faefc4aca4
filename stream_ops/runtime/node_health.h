// Whether a node does its work, and if not, why: for its log, its last words and those who ask it.
// Computed from what its stages count (StageProbe), over the latest period.
//
// Unhealthy: so large a share of what a stage received has become dead letters that its output can
// no longer be believed; or a stage has closed windows before all had come, for want of memory, so
// that its output stands on parts; or a transaction that nobody ends holds back what a stage would
// read. It is healthy again when a period has passed without.
// Thread-safe: one thread observes, any thread asks.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "schemas/mutex.h"
#include "stream_ops/runtime/stage_probe.h"

namespace eroica {

struct NodeHealthOptions {
  double dead_letter_share_max = 0.05;  // of the records that a stage received in a period
  uint64_t dead_letters_min = 20;       // in a period; fewer are no flood, whatever their share
  std::chrono::milliseconds period{60'000};
};

class NodeHealth {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // start: of the node; everything counted so far is 0 then.
  NodeHealth(NodeHealthOptions options, TimePoint start);

  // The stages' counters as of now, which never goes back. Several times a period. True where the
  // answer has changed between healthy and not.
  bool Observe(const std::map<std::string, StageProbe>& probes, TimePoint now);

  bool healthy() const;
  // A sentence for each stage and why it makes the node unhealthy; none while it is healthy.
  std::vector<std::string> reasons() const;
  // How often the node has become unhealthy since its start.
  uint64_t times_unhealthy() const;
  // All of that for a line of a log: "healthy", "unhealthy: REASON".
  std::string Summary() const;

 private:
  struct Counted {
    uint64_t received = 0;
    std::map<DropReason, uint64_t> dead_letters;
    uint64_t windows_forced = 0;
    uint64_t events_late = 0;
  };
  struct Snapshot {
    TimePoint at;
    std::map<std::string, Counted> stages;
  };

  // Nothing where the stage is well. before: at the beginning of the period.
  std::string ReasonOf(const std::string& stage, const Counted& before, const Counted& now) const;
  std::string ForcedReason(const std::string& stage, const Counted& before,
                           const Counted& now) const;

  const NodeHealthOptions options_;
  mutable Mutex mutex_;
  std::deque<Snapshot> snapshots_
      EROICA_GUARDED_BY(mutex_);  // of the latest period, and the last one before it
  std::vector<std::string> reasons_ EROICA_GUARDED_BY(mutex_);
  uint64_t times_unhealthy_ EROICA_GUARDED_BY(mutex_) = 0;
};

}  // namespace eroica
