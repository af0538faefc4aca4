// Pages of the manual, as man(7) has them, from the same source as --help. Pure functions, any
// thread.
#pragma once

#include <string>

#include "ops/cli/command_outline.h"

namespace eroica {

// "eroica-topics-create".
std::string ManualName(const CommandOutline& command);
// The page of one of the program's commands, or of the program itself.
std::string ManualPage(const CommandOutline& command, const CommandOutline& program,
                       const std::string& version);

}  // namespace eroica
