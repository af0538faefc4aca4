// How the time in a kernel goes with the bytes that a rank exchanges: tokens that are routed to its
// experts, activations of longer sequences.
#pragma once

#include <optional>
#include <span>

namespace eroica {

// bytes, times: of the peers, a step, same order. Nothing where the kernel does not go with the
// bytes. Else the time that own_bytes explain: by the line through the peers, if their bytes
// differ; and if they do not, or by far less than own_bytes from theirs, own_ns itself where time
// and bytes are longer in a plausible proportion.
std::optional<double> TimeExplainedByBytes(std::span<const double> bytes,
                                           std::span<const double> times, double own_bytes,
                                           double own_ns);

// (largest - least) / median.
double RelativeRange(std::span<const double> values);

// Exchanges of equal size differ by nothing; padding and headers by less than this.
inline constexpr double kUnevenBytes = 0.02;

}  // namespace eroica
