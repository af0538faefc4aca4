#include "ops/cli/replay_verdict.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ops/cli/exit_code.h"
#include "ops/cli/open_log.h"
#include "ops/cli/state_reading.h"

namespace eroica {
namespace {

// As `eroica findings` says it of the replay's folder.
absl::StatusOr<NoFindings> WhyNoneIsOpen(const ReplayFolder& folder, size_t resolved) {
  NodeConfig config;
  config.node.recording = folder.path();
  config.node.topic_prefix = folder.record().topic_prefix;
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(config, LogAccess::kRead);
  if (!log.ok()) return log.status();
  return NoFindingsBehind(**log, config, folder.record().request.job, resolved);
}

}  // namespace

int ReplayVerdict::exit_code() const {
  if (any_open) return kExitFindings;
  return is_whole && none.is_healthy ? kExitNothingFound : kExitCannotTell;
}

std::string ReplayVerdict::text() const {
  if (any_open) return "findings";
  return exit_code() == kExitNothingFound ? "nothing found" : "cannot tell";
}

absl::StatusOr<ReplayVerdict> JudgeReplay(const ReplayFolder& folder, const ReplayOutcome& outcome,
                                          const LostEntries& lost) {
  ReplayVerdict verdict{
      .any_open = std::ranges::any_of(
          outcome.findings,
          [](const Finding& finding) { return finding.state != FindingState::kResolved; }),
      .is_whole = !lost.any() && outcome.corrupt_bytes == 0 && outcome.records_missing == 0,
      .none = {}};
  if (verdict.any_open) return verdict;
  absl::StatusOr<NoFindings> why = WhyNoneIsOpen(folder, outcome.findings.size());
  if (!why.ok()) return why.status();
  verdict.none = *std::move(why);
  return verdict;
}

}  // namespace eroica
