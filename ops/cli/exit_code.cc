#include "ops/cli/exit_code.h"

#include <errno.h>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "schemas/printable_text.h"
#include "schemas/thread_boundary.h"

namespace eroica {

int ExitWithError(const absl::Status& status) {
  std::istringstream lines{std::string(status.message())};
  for (std::string line; std::getline(lines, line);)
    std::cerr << program_invocation_short_name << ": " << Printable(line) << "\n";
  return kExitError;
}

int ExitAtBoundary(const std::function<int()>& program) {
  return AtBoundary(program, [](const Thrown& thrown) {
    std::fprintf(stderr, "%s: an exception ended the program: %s\n", program_invocation_short_name,
                 thrown.text());
    return kExitError;
  });
}

}  // namespace eroica
