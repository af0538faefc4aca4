#include "ops/cli/exit_code.h"

#include <errno.h>

#include <iostream>
#include <sstream>
#include <string>

#include "ops/cli/wrapped_text.h"

namespace eroica {

int ExitWithError(const absl::Status& status) {
  std::istringstream lines{std::string(status.message())};
  for (std::string line; std::getline(lines, line);)
    std::cerr << program_invocation_short_name << ": " << WithoutControls(line) << "\n";
  return kExitError;
}

}  // namespace eroica
