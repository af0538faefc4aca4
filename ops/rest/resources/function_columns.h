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

// Median and maximum of a column over the ranks that ran the function, and whose the maximum is.
Json SpreadJson(const WindowDetail& detail, const FunctionSnapshot& function,
                const std::vector<float>& column);

// nullptr: it is none of the window's functions that are held.
const FunctionSnapshot* FindFunction(const WindowDetail& detail, uint64_t id);

// The row of a function that is a rank's; nothing where the rank did not run it.
std::optional<size_t> RowOf(const WindowDetail& detail, const FunctionSnapshot& function,
                            uint32_t rank);

// Median of a column over the rank's role, the rank left out; nothing without peers.
std::optional<double> PeersMedian(const WindowDetail& detail, const FunctionSnapshot& function,
                                  const std::vector<float>& column, size_t row);

// By role, the median of a column; 0 where no rank of the role ran it.
std::vector<double> MedianByRole(const WindowDetail& detail, const FunctionSnapshot& function,
                                 const std::vector<float>& column);

}  // namespace eroica
