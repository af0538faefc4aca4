// By how much a rank computes longer than its peers, in which kernels, and what that tells of the
// reason. All ranks of a role run the same kernels, so that
// - a device at a lower clock shows it in its clock, and in what is bound by it;
// - a device that somebody else uses too is slower in everything, the optimizer too, at its usual
// clock (EROICA, NSDI'26, appendix B). Where the optimizer is too
//   short to be seen its connections tell the same: larger inputs are more bytes, not slower ones;
// - a device that pauses now and then runs most kernels as fast as ever, and some much longer;
// - larger inputs lengthen what works on them, and nothing that works on parameters (EROICA, case
// study 2, problem 4: longer at the same clock);
// - more tokens for a rank's experts lengthen the experts' kernels alone, in proportion to the
// bytes that the rank exchanges for them. So do longer sequences with
//   all that works on data, where ranks share a layer (tensor parallel): what bytes explain is
//   taken out before anything else is judged.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "diagnosis/busy_time.h"
#include "diagnosis/cross_rank_view.h"
#include "schemas/parameter_kernel.h"

namespace eroica {

enum class GrowthCause : uint8_t {
  kUnclear = 0,  // the telemetry does not tell
  kClock = 1,    // lower clock
  // slower in everything; the clock is not known, or the window shows it in some steps only
  kDevice = 2,
  kShared = 3,  // slower in everything in most steps, at the usual clock
  kPauses = 4,
  kData = 5,
  kRouting = 6,
};

// The kernels of one rank against those of its role. Growths are own / peers - 1.
struct ComputeGrowth {
  GrowthCause cause = GrowthCause::kUnclear;
  double growth = 0;  // of all that works on data, beyond what the exchanged bytes explain
  double noise = 0;   // how much ranks of the role differ in that
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
  double uniform = 0;      // share by time of the kernels on data that grew at least half as much
  double own_uniform = 0;  // the same of the kernels whose work is no matter of exchanged bytes
  uint32_t grown_kernels = 0;  // how many these are
  double typical = 0;  // share of the kernels whose median duration grew at least half as much
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
  // By so many times what the peers differ by: in all kernels on data, or, where uneven inputs make
  // these differ, in those on parameters, which no inputs lengthen.
  bool StandsOut(double separation_least) const {
    return separation() >= separation_least ||
           (parameter_noise > 0 &&
            parameter_growth.value_or(0) >= separation_least * parameter_noise);
  }
  double excess_ns() const { return growth * expected_ns; }  // a step, beyond what bytes explain
  // A step, with what bytes explain; and as a share of what the peers take.
  double more_ns() const { return excess_ns() + routed_ns; }
  double more() const {
    return expected_ns > routed_ns ? more_ns() / (expected_ns - routed_ns) : 0;
  }
};

// Below it causes look alike in one window: devices of one kind differ by so much.
inline constexpr double kLeastGrowth = 0.03;

// The rank must have peers in its role. least_growth: of what a cause is said. Cost: its kernels
// times at most 64 peers.
ComputeGrowth MeasureComputeGrowth(const CrossRankView& view, const BusyTime& busy,
                                   double least_growth = kLeastGrowth);
// Against these ranks of the role instead of all others.
ComputeGrowth MeasureComputeGrowth(const CrossRankView& view, const BusyTime& busy,
                                   std::span<const RankIndex> peers);

}  // namespace eroica
