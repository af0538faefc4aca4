// What each fault is, for people: its family, what it does, what its severity means, whom it
// strikes, and where it is described. docs/reference/faults.md is made from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/evaluation/simulate/fault.h"

namespace eroica::simulate {

// Whom a fault strikes, given Fault::ranks.
enum class FaultReach : uint8_t {
  kRanks = 0,   // those ranks
  kHosts = 1,   // all ranks of their hosts
  kRacks = 2,   // all ranks of their racks
  kStages = 3,  // all ranks of their pipeline stages
  // all ranks that work on the same data as one of them; all replicas where none are given
  kDataReplicas = 4,
  // all ranks that share an expert with one of them; all experts where none are given
  kExperts = 5,
  kPath = 6,      // the paths between their hosts and the host of peer_rank, both ways
  kEveryone = 7,  // all ranks of the job
};
inline constexpr int kFaultReachCount = 8;
std::string_view ToString(FaultReach reach);

struct FaultDescription {
  FaultKind kind = FaultKind::kGpuSlow;
  FaultReach reach = FaultReach::kRanks;
  std::string_view family;
  std::string_view about;
  std::string_view severity;  // its meaning and usual range
  std::string_view source;
};
const FaultDescription& Describe(FaultKind kind);

// The reference page, as Markdown.
std::string FaultReference();

}  // namespace eroica::simulate
