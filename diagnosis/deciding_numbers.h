// The numbers by which diagnosis decides between causes, with their meaning and source.
#pragma once

#include <cstdint>

namespace eroica {

// How well a table of causes knows what a cause does, relative to the fault's size: kernels are not
// bound by one resource alone (roofline: Williams et al., CACM'09), inputs are not of one length.
inline constexpr double kEffectTolerance = 0.1;

// How often a measurement is off for a reason of its own: a clock that was sampled between kernels,
// a kernel that shares the name of another one.
inline constexpr double kOddMeasurement = 0.01;

// One cause is named where it is so many times as likely as all others together; else it is
// undecided between them (Kass and Raftery, JASA 1995: 3 to 20 is positive evidence).
inline constexpr double kDecisive = 5;

// How much less likely than any of its rows it is that a table lacks the cause.
inline constexpr double kOddsOfNone = 0.1;

// How much less likely all devices of a pipeline stage are slow for a reason of their own than the
// stage is heavier: they share no host.
inline constexpr double kOddsOfSlowStage = 0.03;

// By how much healthy devices of one kind differ for good, and connections of one kind: relative
// standard deviations (devices 0.5 to 1.5 %, links 3 %: issue 20).
inline constexpr double kDeviceSpread = 0.01;
inline constexpr double kLinkSpread = 0.03;

// How much of a finding's doubt comes true. Of the drawn sets of five seeds, dev and realistic 4 of
// 486 findings were wrong, where doubts of 54 were said (0.07); of 2,025 real runs 35 of 487 were
// not wholly right, of doubts of 134 (0.26). docs/ACCURACY.md has what was said and was right.
inline constexpr double kWrongOfDoubt = 0.25;

// How often the slowest of a job's healthy devices may be called slow, however long the job runs.
inline constexpr double kFalseAlarmsOfHealthyDevices = 1e-3;

// Of one or two kernels nobody can say that it is the device or the layers.
inline constexpr uint32_t kFewestKernels = 3;

// Relative: nobody measures the growth of durations and clocks better.
inline constexpr double kGrowthNoise = 0.002;

// The larger part of a whole; the quantile of a median.
inline constexpr double kHalf = 0.5;

// The quantile of what two thirds of the parts agree on.
inline constexpr double kThird = 1.0 / 3;

}  // namespace eroica
