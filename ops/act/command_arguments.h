// The arguments of a command about a finding: placeholders such as {job} and {rank} become what the
// finding names, each within its one argument. Nothing goes through a shell; what could be taken
// for an option or for the name of a file (@job), or hold what a careless script trips over, is
// refused. What the policy itself says is passed on as it is. Pure; any thread.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <utility>
#include <vector>

#include "schemas/finding.h"

namespace eroica {

// finding, job, kind, severity, rank, ranks, host, hosts, device.
const std::vector<std::string>& PlaceholderNames();
// Of the words in braces in a command, those that are none.
std::vector<std::string> UnknownPlaceholders(const std::vector<std::string>& command);

// kFailedPrecondition, in a sentence: the finding does not name what is asked for, or in letters
// that are passed to no command.
absl::StatusOr<std::vector<std::string>> ArgumentsFor(const std::vector<std::string>& command,
                                                      const Finding& finding);

// EROICA_FINDING, EROICA_JOB and so on: the same of all that the finding names, and EROICA_TITLE.
// What may not be passed is left out.
std::vector<std::pair<std::string, std::string>> EnvironmentFor(const Finding& finding);

// Of the culprits, each once, in their order.
std::vector<int32_t> CulpritRanks(const Finding& finding);
std::vector<std::string> CulpritHosts(const Finding& finding);

}  // namespace eroica
