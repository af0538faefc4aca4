// How well what was measured agrees with what a cause would do. A cause is a row of a table: for
// each measurement the effect that it has there, in multiples of how large the fault is. Pure.
#pragma once

#include <optional>
#include <span>

namespace eroica {

// What was measured at a place against what is usual: own / usual - 1.
struct Change {
  double value = 0;
  double error = 0;  // standard error
};

// What a cause does to a measurement, in multiples of the fault's size: anything from least to
// most, all of it equally likely; and, with a probability, nothing at all.
struct Response {
  double least = 0;
  double most = 0;
  double none = 0;
};

// One measurement and what one cause does to it.
struct Observation {
  Change change;
  Response response;
  // Where set, the response is in multiples of this, and not of the fault's size: what is a part of
  // another measurement says nothing more of how large the fault is.
  std::optional<double> part_of;
};

// Natural logarithm of the likelihood of the observations under a cause of a size that is not
// known: any from a fifth of `scale` to twice as much, equally likely in logarithms. scale: the
// largest of what was measured, more than 0. Effects are known within a tenth, and one measurement
// in a hundred is off for a reason of its own (deciding_numbers.h), so that no single measurement
// decides against all others.
double LogLikelihood(std::span<const Observation> observations, double scale);

// The same where the cause is none of the table: all measurements are anything of the scale.
double LogLikelihoodOfAnything(size_t observations, double scale);

}  // namespace eroica
