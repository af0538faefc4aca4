// By how much a rank computes longer than its peers, in which kernels, and what that says of the
// reason (hypotheses/device_cause.h). All ranks of a role run the same kernels. More tokens for a
// rank's experts lengthen the experts' kernels alone, in proportion to the bytes that the rank
// exchanges for them. So do longer sequences with all that works on data, where ranks share a layer
// (tensor parallel): what bytes explain is taken out before anything else is judged.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "diagnosis/hypotheses/device_cause.h"
#include "diagnosis/measurements/busy_time.h"
#include "diagnosis/measurements/cross_rank_view.h"
#include "diagnosis/statistics/healthy_spread.h"

namespace eroica {

enum class GrowthCause : uint8_t {
  kUnclear = 0,  // the telemetry does not say
  kClock = 1,    // lower clock
  kDevice = 2,   // the device itself, undecided what is wrong with it
  kShared = 3,   // slower in everything at the usual clock
  kPauses = 4,
  kData = 5,
  kRouting = 6,
  kMemory = 7,  // slower memory
};

// The kernels of one rank against those of its role. Growths are own / peers - 1.
struct ComputeGrowth {
  GrowthCause cause = GrowthCause::kUnclear;
  std::vector<DeviceCause> undecided;  // of kDevice: what it may be, likeliest first
  double growth = 0;  // of all that works on data, beyond what the exchanged bytes explain
  double noise = 0;   // how much ranks of the role differ in that
  // how much ranks of other roles differ from those of their own in that; of roles with few ranks
  HealthySpread elsewhere;
  // Of the typical kernel on data that no bytes explain: of those that arithmetic bounds, and of
  // those that memory bounds; and of those that work on parameters. Nothing where no such kernel is
  // seen. Kernels whose bound is not known count as the first where hardly any other is.
  std::optional<Change> compute;
  std::optional<Change> memory;
  std::optional<Change> parameters;
  // a step: what the same kernels take on the peers, for what the rank exchanges
  double expected_ns = 0;
  // of what works on parameters; nothing where no such kernel is seen
  std::optional<double> parameter_growth;
  double parameter_noise = 0;  // how much ranks of the role differ in that
  // of what the rank's connections take for a byte; nothing where they, or the peers', are not
  // known
  std::optional<double> link_growth;
  std::optional<double> clock_growth;  // of the SM's clock and use; nothing without samples
  // the same as low as it may be, where samples hold waits between kernels
  std::optional<double> clock_between_waits;
  double clock_noise = 0;
  double uniform = 0;  // share by time of the kernels on data that grew at least half as much
  double typical = 0;  // share of the excess in kernels whose median call grew half as much or more
  // of the median call, mean over the kernels on data by time; nothing where calls are not known
  std::optional<double> typical_growth;
  double calls_growth = 0;    // of how often the kernels on data are called a step, likewise
  uint32_t data_kernels = 0;  // how many kernels on data were compared
  // of all its kernels: that took longer than any call of the same kernel on any peer
  uint64_t longest_calls = 0;
  uint32_t peers = 0;  // that it was compared with
  // of what the rank exchanges; nothing where all ranks exchange the same
  std::optional<double> bytes_growth;
  double routed_ns = 0;      // a step: by how much the bytes explain that kernels take longer
  double routed_share = 0;   // by time, of the kernels on data: how many of them go with the bytes
  double routed_own_ns = 0;  // a step: what those take,
  double routed_peers_ns = 0;                 // and on the peers
  const FunctionPattern* routed = nullptr;    // one of them, of the rank
  const FunctionPattern* exchange = nullptr;  // the collective whose bytes differ most, of the rank

  // Of what no inputs lengthen: the optimizer, or else the links.
  double apart_growth() const { return parameter_growth.value_or(link_growth.value_or(0)); }
  double separation() const { return noise > 0 ? growth / noise : 0; }
  double excess_ns() const { return growth * expected_ns; }  // a step, beyond what bytes explain
  // A step, with what bytes explain; and as a share of what the peers take.
  double more_ns() const { return excess_ns() + routed_ns; }
  double more() const {
    return expected_ns > routed_ns ? more_ns() / (expected_ns - routed_ns) : 0;
  }
};

// Whether a device of so many `ranks` is slower by more than healthy ones differ for good, which
// what is known of devices of one kind moderates (healthy_spread.h).
bool IsBeyondHealthyDevices(double growth, const HealthySpread& spread, size_t ranks);

// Whether the growth is by so many times what the peers differ by, in all kernels on data, in those
// that memory bounds, or, where uneven inputs make these differ, in those on parameters, which no
// inputs lengthen; and by more than healthy devices differ for good, the slowest of `ranks` too.
// One peer says little of that; the replicas of other pipeline stages are devices of the job, too.
bool StandsOut(const ComputeGrowth& growth, double separation_least, size_t ranks);

// Below it the causes cannot be distinguished in one window: devices of one kind differ by so much.
inline constexpr double kLeastGrowth = 0.03;

// The rank must have peers in its role. least_growth: of what a cause is said. Cost: its kernels
// times at most 64 peers.
ComputeGrowth MeasureComputeGrowth(const CrossRankView& view, const BusyTime& busy,
                                   double least_growth = kLeastGrowth);
// Against these ranks of the role instead of all others.
ComputeGrowth MeasureComputeGrowth(const CrossRankView& view, const BusyTime& busy,
                                   std::span<const RankIndex> peers);

}  // namespace eroica
