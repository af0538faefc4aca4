// Scenarios from TOML files: docs/reference/scenario.md. An unknown key, a wrong type or an
// impossible job stops the reading: the message names file and line, what is allowed and the
// nearest key, one line a problem.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/evaluation/score/scenario.h"

namespace eroica {

// The scenario's name, and its job's, is that of the file without its ending. kNotFound where the
// file cannot be read, kInvalidArgument for what it says. The job has passed simulate::Check.
absl::StatusOr<Scenario> ReadScenario(const std::string& path);
// The same of text; `path` stands for the file in messages and names.
absl::StatusOr<Scenario> ReadScenarioText(std::string_view text, const std::string& path);

// All .toml files of a folder and the folders in it, sorted. kNotFound where there is no such
// folder.
absl::StatusOr<std::vector<std::string>> ListScenarioFiles(const std::string& folder);

}  // namespace eroica
