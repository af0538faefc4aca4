// A function of a snapshot over the ranks, as resources compare it: each rank beside the others of
// its role. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/rest/resources/answer.h"
#include "stream_ops/diagnose/window_snapshot.h"

namespace eroica {

inline constexpr int64_t kRankMax = 4'294'967'295;  // a rank is a uint32

// Id, name, class and so on.
Json FunctionJson(const FunctionSnapshot& function);

// A column of a function over the ranks, and what of a rank without a row of it counts: of time and
// shares none, of the duration of a call nothing. kAtMost: what functions without a row may have
// had, since small functions are no rows, and the rank may have run it all the same.
struct FunctionMeasure {
  enum class NotRun : uint8_t { kZero, kLeftOut, kAtMost };
  std::vector<float> FunctionSnapshot::*column;
  NotRun not_run;
};
inline constexpr FunctionMeasure kBetaMeasure{&FunctionSnapshot::beta,
                                              FunctionMeasure::NotRun::kZero};
inline constexpr FunctionMeasure kCriticalMeasure{&FunctionSnapshot::critical_ns_per_step,
                                                  FunctionMeasure::NotRun::kZero};
inline constexpr FunctionMeasure kCriticalAtMostMeasure{&FunctionSnapshot::critical_ns_per_step,
                                                        FunctionMeasure::NotRun::kAtMost};
inline constexpr FunctionMeasure kCallMeasure{&FunctionSnapshot::call_ns,
                                              FunctionMeasure::NotRun::kLeftOut};

// The maximum, whose it is, and the median over the ranks of its role.
Json SpreadJson(const WindowDetail& detail, const FunctionSnapshot& function,
                const FunctionMeasure& measure);

// nullptr: it is none of the window's functions that are held.
const FunctionSnapshot* FindFunction(const WindowDetail& detail, uint64_t id);

// The row of a function that is a rank's; nothing where the rank did not run it.
std::optional<size_t> RowOf(const WindowDetail& detail, const FunctionSnapshot& function,
                            uint32_t rank);

// Median over the rank's role, the rank left out; nothing without peers.
std::optional<double> PeersMedian(const WindowDetail& detail, const FunctionSnapshot& function,
                                  const FunctionMeasure& measure, size_t row);

// By role; 0 where no rank of the role ran it.
std::vector<double> MedianByRole(const WindowDetail& detail, const FunctionSnapshot& function,
                                 const FunctionMeasure& measure);

}  // namespace eroica
