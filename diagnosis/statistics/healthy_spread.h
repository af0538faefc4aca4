// How much healthy ranks without devices differ, and drift: a property of the hardware and of what
// else uses it, that no number of steps averages away.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace eroica {

// Relative standard deviation of busy time, between processors that share caches, memory and cores
// (issue 20: processors by 5 %).
inline constexpr double kProcessorSpread = 0.05;

// And of one job's windows over time: what else runs on the host, or on the machine below it, comes
// and goes.
inline constexpr double kProcessorDrift = 0.025;

// How well that is known before any rank is looked at, in degrees of freedom: as well as from five
// ranks.
inline constexpr double kPriorFreedom = 4;

struct HealthySpread {
  double value = 0;    // a standard deviation
  double freedom = 0;  // degrees of freedom, in which it is known
};

// The spread of some ranks or windows, moderated towards what is usual (limma: Smyth, Stat. Appl.
// Genet. Mol. Biol. 3, 2004): of two or three that happen to be equal nobody can say that a fourth
// one must be. Never less than what is seen: work that is unevenly shared out spreads few ranks
// rightly. seen: their standard deviation; usual: the prior's, in the same unit.
// others: what places like these, which they are not compared with, differ by among their own.
inline HealthySpread ModeratedByOthers(double seen, size_t ranks, const HealthySpread& others,
                                       double usual) {
  const double own_freedom = ranks > 1 ? static_cast<double>(ranks - 1) : 0;
  const double freedom = kPriorFreedom + own_freedom + others.freedom;
  const double moderated = std::sqrt((kPriorFreedom * usual * usual + own_freedom * seen * seen +
                                      others.freedom * others.value * others.value) /
                                     freedom);
  return {.value = std::max(seen, moderated), .freedom = freedom};
}
inline double ModeratedSpread(double seen, size_t ranks, double usual) {
  return ModeratedByOthers(seen, ranks, {}, usual).value;
}

}  // namespace eroica
