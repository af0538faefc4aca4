// Completion scripts: what a shell offers when Tab is pressed, from the program's own commands,
// options and the values that they take. Pure functions, any thread.
#pragma once

#include <string>

#include "ops/cli/command_outline.h"

namespace eroica {

// Each is a whole script: to be sourced, or put where the shell looks for them.
std::string BashCompletion(const CommandOutline& program);
std::string ZshCompletion(const CommandOutline& program);
std::string FishCompletion(const CommandOutline& program);

}  // namespace eroica
