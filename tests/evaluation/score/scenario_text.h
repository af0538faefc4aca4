// The reference page of scenario files, from the declarations of scenario_key.h.
#pragma once

#include <string>

namespace eroica {

// docs/reference/scenario.md.
std::string ScenarioReference();

}  // namespace eroica
