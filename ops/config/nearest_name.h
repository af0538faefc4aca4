// What a misspelt name was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace eroica {

// The known name with the smallest edit distance, empty where none is near (more than a third of
// the name would have to change).
std::string NearestName(std::string_view name, const std::vector<std::string>& known);

}  // namespace eroica
