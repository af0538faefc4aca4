// Who pays for a delay that several cause side by side: the Shapley value of the airport game
// (Littlechild and Owen, 1973).
#pragma once

#include <span>

namespace eroica {

// In: how late each is, at least 0. Out: what each is charged with; together the largest lateness.
// The slices of lateness are paid equally by all who are later, so nobody pays more than his own,
// and the order does not matter.
void ShareAirport(std::span<double> lateness);

}  // namespace eroica
