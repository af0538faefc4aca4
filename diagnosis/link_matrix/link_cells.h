// The link matrix of C4D: how fast data moved from each rank to each of its peers, beside what
// connections like it reached. From the ranks' ConnectionPatterns.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// One cell: all connections of one resource and communicator from a rank to a peer. Where
// communicators are not known: of all of them.
struct LinkCell {
  RankIndex source = 0;
  RankIndex destination = 0;
  Resource resource = Resource::kNic;
  // number of the kind of its communicator, or of those that both ends are in; and whether an end
  // is at a small host
  uint32_t kind = 0;
  CommId communicator{};  // 0: not known
  uint8_t channels = 0;   // side by side; 0: not known
  uint64_t bytes = 0;
  int64_t busy_ns = 0;
  double peers_speed = 0;  // of the healthy cells like it, bytes per ns; 0: too few to compare with
  double peers_spread = 0;  // median absolute deviation of the logarithms of their speeds
  uint32_t peers = 0;
  bool detour = false;  // over PCIe, where cells like it take NVLink: those are its peers

  double speed() const {
    return busy_ns > 0 ? static_cast<double>(bytes) / static_cast<double>(busy_ns) : 0;
  }
  // Of a NIC while only this cell uses it.
  double port_speed() const { return channels * speed(); }
  // Busy time beyond what the same bytes take at the peers' speed, of the channels together.
  double excess_ns() const {
    return peers_speed > 0 ? static_cast<double>(busy_ns) - static_cast<double>(bytes) / peers_speed
                           : 0;
  }
};

// By resource, source, destination, communicator. Cells are compared with each other where
// resource, the kind of communicator (its size and description) and the amount of data are the
// same: what carries the activations of a pipeline is not compared with what carries gradients.
// Where a communicator's summary has not come, its kind is how many ranks list it and how many
// channels it takes. Where producers do not know communicators, two ranks may exchange data in
// several, at other speeds: then the sizes of all that both are in must be the same, whether both
// have the same role, and where several of these move data the amount to a fiftieth. A host with
// half the ranks of others or fewer has fewer ports for the same channels: cells over NICs that
// end there are compared with each other alone. Where the speeds of the cells that are compared
// fall into two groups that lie clearly apart, the healthy ones are the faster group, if it is a
// quarter at least: a slow switch may have most of them behind it. Cells that carry next to
// nothing or were never busy, and those to ranks that the view does not have, are left out.
std::vector<LinkCell> MeasureLinks(const CrossRankView& view);

}  // namespace eroica
