// Asks this machine what capture_check.h reasons from: loads libraries, asks the first python3 on
// PATH, reads /proc and /sys. Seconds at most; changes nothing, but for a file that it removes at
// once.
#pragma once

#include <string>

#include "ops/cli/capture_check.h"

namespace eroica {

struct MachineQuestions {
  std::string recording;  // folder that one would go to; it need not be there yet
  std::string kafka;      // bootstrap; empty: not asked
};
MachineFacts AskMachine(const MachineQuestions& questions);

// What `python3` says of itself, as JSON in, facts out. Not JSON: an error in them.
PythonFacts ParsePythonAnswer(const std::string& path, const std::string& answer);

}  // namespace eroica
