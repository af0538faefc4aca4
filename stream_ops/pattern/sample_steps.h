// The steps in which samples of use are counted, as they travel: sums of them are exact.
#pragma once

namespace eroica {

inline constexpr double kSampleSteps = 65535;  // of a whole

}  // namespace eroica
