// What a finished replay says of the job: whether a finding is open, and where none is, whether
// that suffices to call the job healthy. The same for `eroica replay` and over REST, and the same
// as `eroica findings` says of the replay's folder.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "ops/cli/known_jobs.h"
#include "ops/cli/lost_entries.h"
#include "ops/cli/replay_folder.h"
#include "ops/cli/replay_job.h"

namespace eroica {

struct ReplayVerdict {
  bool any_open = false;
  bool is_whole = true;  // all of what was asked for was read
  NoFindings none;       // where none is open

  int exit_code() const;
  std::string text() const;  // "findings", "nothing found", "cannot tell"
};

// outcome: of this folder. lost: of the source.
absl::StatusOr<ReplayVerdict> JudgeReplay(const ReplayFolder& folder, const ReplayOutcome& outcome,
                                          const LostEntries& lost);

}  // namespace eroica
