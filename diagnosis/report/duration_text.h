// Durations, speeds, sizes and shares as people read them, in the sentences of findings.
#pragma once

#include <string>

namespace eroica {

// Three significant digits and the unit that fits: "1.53 s", "36.3 ms", "870 us", "12 ns".
std::string DurationText(double ns);
// "34.8 MB/s", "1.4 GB/s".
std::string SpeedText(double bytes_per_ns);
// "34.8 MB".
std::string BytesText(double bytes);
// "34 %", below ten "3.4 %".
std::string PercentText(double share);

}  // namespace eroica
