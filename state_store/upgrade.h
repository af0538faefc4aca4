// From version 2 of the keys to version 3 (key_schema.h): findings and jobs, which were keyed by
// job alone, come under the task that diagnoses the job.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/ids.h"

namespace eroica {

class DiagnosingTasks {
 public:
  // A key of kProgress or kPositions: all of them, in any order.
  void Note(std::string_view key);

  // In version 3, of a key of kFindings or kJobs. A job of which the store has no progress any more
  // comes under any task that diagnoses. Nothing where there is none: the row is left behind.
  std::optional<std::string> Upgrade(std::string_view key) const;

 private:
  std::map<JobId, std::string> by_job_;
  std::string any_;
};

}  // namespace eroica
