// Tails of distributions, by Boost.Math: how likely noise alone makes something that stands out so
// far. Accurate far out, where 1 - CDF would be 0. Without degrees of freedom (0, or none that can
// be known) everything may be noise: 1. Pure.
#pragma once

#include <cstdint>

namespace eroica {

// Probability of at least k successes in n independent trials of probability p.
double BinomialTail(uint64_t n, uint64_t k, double p);

// Probability that Student's t of so many degrees of freedom is at least t: that noise makes a mean
// stand out that far, where the spread was estimated from the same few values.
double StudentTail(double t, double freedom);

// Probability that Fisher's F, of so many degrees of freedom above and below, is at least f: that
// noise makes means differ by so much more than what they are the means of.
double FisherTail(double f, double above, double below);

}  // namespace eroica
