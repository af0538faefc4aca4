// What a node says on its log of what it finds: a line when a finding opens and when it is
// resolved, and how the node gets on, once a minute at most and only if something has changed.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ops/config/node_config.h"
#include "schemas/finding.h"
#include "schemas/mutex.h"
#include "state_store/state_store.h"
#include "stream_ops/log/log.h"
#include "stream_ops/runtime/stage_probe.h"

namespace eroica {

// Thread-safe; outlives the stages that tell it.
class FindingLog {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kProgressEvery{60};

  explicit FindingLog(TimePoint start) : progress_at_(start) {}
  FindingLog(const FindingLog&) = delete;
  FindingLog& operator=(const FindingLog&) = delete;

  // For EroicaTopology.
  std::function<void(const Finding&)> Listener() {
    return [this](const Finding& finding) { Published(finding); };
  }
  void Published(const Finding& finding);
  void Progress(const std::map<std::string, StageProbe>& probes, TimePoint now);

 private:
  Mutex mutex_;
  std::set<std::string> open_ EROICA_GUARDED_BY(mutex_);  // ids
  uint64_t opened_ EROICA_GUARDED_BY(mutex_) = 0;
  uint64_t resolved_ EROICA_GUARDED_BY(mutex_) = 0;
  TimePoint progress_at_ EROICA_GUARDED_BY(mutex_);
  std::string progress_ EROICA_GUARDED_BY(mutex_);  // as it was last logged
};

// One line about a recording that was read to its end: its outcome, and the command to type next.
// log: the recording. lost: sentences about its losses.
absl::StatusOr<std::string> DrainOutcome(Log& log, const StateStore& store,
                                         const NodeConfig& config,
                                         const std::vector<std::string>& lost);
// The same for programs, with what each stage counted: one JSON object, with a line end.
absl::StatusOr<std::string> DrainOutcomeJson(const StateStore& store,
                                             const std::map<std::string, StageProbe>& probes,
                                             const std::vector<std::string>& lost);

}  // namespace eroica
