// What `eroica --version` prints, for reports of faults.
#pragma once

#include <string>

namespace eroica {

// Several lines: version, commit, kind of build, libraries as they are loaded.
std::string VersionText();

}  // namespace eroica
