// One version of a finding, as it was published: for those who must know the second copy of it.
#pragma once

#include <string>

#include "schemas/finding.h"

namespace eroica {

// ID-HASH, 49 characters: the finding's id, and a hash of all that this version says but for the
// moment at which it was published. What is published twice after a crash has one of them, two
// versions never have the same.
std::string FindingVersionId(const Finding& finding);

}  // namespace eroica
