#include "ops/cli/exit_code.h"

#include <errno.h>

#include <iostream>
#include <sstream>
#include <string>

#include "schemas/printable_text.h"

namespace eroica {

int ExitWithError(const absl::Status& status) {
  std::istringstream lines{std::string(status.message())};
  for (std::string line; std::getline(lines, line);)
    std::cerr << program_invocation_short_name << ": " << Printable(line) << "\n";
  return kExitError;
}

}  // namespace eroica
