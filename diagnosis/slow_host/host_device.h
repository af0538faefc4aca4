// By how much the devices of a host are slower than those of all other hosts, by single calls of
// kernels that they all run: pipeline stages run different numbers of layers, but the same kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "diagnosis/hypotheses/device_cause.h"
#include "diagnosis/hypotheses/kernel_growths.h"
#include "diagnosis/measurements/host_ranks.h"

namespace eroica {

struct HostDevices {
  // own / other hosts' - 1 of one call's mean duration: two thirds of the kernel time grew by so
  // much
  double growth = 0;
  double typical = 0;       // the same of the median call
  double noise = 0;         // how much hosts would differ in growth by what ranks of the others do
  bool has_clock = false;   // samples of it, on the host and elsewhere; else the next three are 0
  double clock_growth = 0;  // of the SM clock and use: median over the kernel time
  double clock_noise = 0;   // likewise
  // of the rank there that waits least for others: samples of the clock hold waits
  double busiest_clock_growth = 0;
  KernelGrowths by_bound;  // of the mean call
  double kernel_ns = 0;    // a step, in these kernels: mean over the host's ranks
  // a step, that the rank there which lost most lost: all wait for the slowest
  double slowest_ns = 0;
  uint32_t ranks = 0;  // of the host whose kernels grew by half as much
  uint32_t kernels = 0;
  double excess_ns() const { return kernel_ns * growth / (1 + growth); }  // a step
  // For hypotheses/device_cause.h. ranks_of_host: whose devices are taken together.
  KernelChanges changes(size_t ranks_of_host) const;
};

// In the order of `hosts`; nothing where kernels are not recorded, or growth is below min_growth.
std::vector<std::optional<HostDevices>> CompareHostDevices(const CrossRankView& view,
                                                           std::span<const HostRanks> hosts,
                                                           double min_growth);

}  // namespace eroica
