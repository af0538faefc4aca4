// Ranks that are slow for the same reason have one fault, not one each: a host that is too hot, a storage that several ranks read from.
#pragma once

#include <vector>

#include "schemas/finding.h"

namespace eroica {

// Claims about slow ranks that name the same function (or the same class of functions) become one finding with all their culprits, by rank. It keeps the words of the
// claim that costs most; its loss is that one's, since the ranks are late at the same time. A culprit is no victim. Other kinds stay as they are, in order.
std::vector<Finding> MergeBySharedCause(std::vector<Finding> claims);

}  // namespace eroica
