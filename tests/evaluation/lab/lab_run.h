// One run of the built program `eroica-lab`, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ops/cli/program_run.h"

namespace eroica {

inline ProgramRun RunLab(std::vector<std::string> arguments) {
  return Program(EROICA_LAB_PROGRAM, std::move(arguments)).Wait();
}

}  // namespace eroica
