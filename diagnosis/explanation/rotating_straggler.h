// Ranks that are late now and then, each in steps of its own: the straggler rotates, and no rank is
// to blame.
#pragma once

#include <cstddef>
#include <vector>

#include "schemas/finding.h"

namespace eroica {

// Where at least three ranks are late in some of the steps, none of them in most, in functions of
// the host, the place is not what they share: claims of such ranks, and those that do not say how
// often, become one finding of the kind kStepTime that blames nobody, with the function that most
// of them name. Fewer ranks that are late in most steps, in the same function, are part of it: in a
// short window some always are; and so is a claim of such a rotation, which takes its place where
// it names another function and accounts for half of the cost. (EROICA, NSDI'26, section 6: garbage
// collections, each rank's at a moment of its own.) Ranks of one host alone, where the job has
// several `hosts`, share the host.
std::vector<Finding> MergeRoaming(std::vector<Finding> claims, size_t hosts = 1);

// Drops a claim of work that varies where a claim of a rotation accounts for half of its cost: both
// are about the same steps.
void DropVaryingBesideRotation(std::vector<Finding>& claims);

// The finding that it is then; `ranks`: among how many it rotates, if more than these claims name.
Finding RoamingOf(std::vector<Finding> claims, size_t ranks);

}  // namespace eroica
