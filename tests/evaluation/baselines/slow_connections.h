// Connections that Aegis and C4D call slow, and what they make of them: the matrix of delays by
// source and destination.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// Ranks. Negative: not told.
struct SlowConnection {
  int64_t source = -1;
  int64_t destination = -1;
  auto operator<=>(const SlowConnection&) const = default;
};

inline constexpr double kAegisSlowFactor = 1.5;

// Whether any rank reports connections.
bool HasConnections(const CrossRankView& view);

// Whose throughput in the window is below the mean of their communicator's connections of the same
// resource / kAegisSlowFactor. A connection is of the smallest communicator that both of its ends
// are in.
std::set<SlowConnection> FindSlowConnections(const CrossRankView& view);

enum class MatrixShape : uint8_t { kLink, kSender, kReceiver, kRank, kNetwork };
struct MatrixReading {
  MatrixShape shape = MatrixShape::kNetwork;
  int64_t rank = -1;
  int64_t peer = -1;  // kLink
};
// slow: not empty.
MatrixReading ReadMatrix(const std::set<SlowConnection>& slow);

}  // namespace eroica
