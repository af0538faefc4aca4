// Ports of ranks that are shared by more connections than most, so that each of these is slow and
// the port is not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "diagnosis/link_matrix/link_cells.h"
#include "diagnosis/statistics/robust_statistics.h"

namespace eroica {

// What passes one side of a rank's port over connections of one kind: how many with their channels
// counted, how much, and how fast together where they run side by side.
struct PortSide {
  double connections = 0;
  double bytes = 0;
  double speed = 0;
};

// Ports that have more to move than most, over more connections: these share the port, and move as
// much together as a quarter of all ports and more do. So it is where hosts have unequally many
// ranks, and several rings leave by the same device; a job that has changed its size has such
// hosts. Most connections may be slower than a port there, held up by the crowded one at their
// other end, so that it is not one of them that tells what a port can do. Where most ports with as
// many connections are as fast over each of them, they do not share it: a stage in the middle of a
// pipeline sends to both neighbors, now to the one and now to the other.
class CrowdedPorts {
 public:
  explicit CrowdedPorts(std::span<const LinkCell> cells) {
    for (const LinkCell& cell : cells) {
      if (cell.resource != Resource::kNic) continue;
      Sides& sides = sides_[KindOf(cell)];
      Add(sides.out[cell.source], cell);
      Add(sides.in[cell.destination], cell);
    }
    for (auto& [kind, sides] : sides_) {
      sides.typical_out = TypicalOf(sides.out);
      sides.typical_in = TypicalOf(sides.in);
      sides.port_speed = PortSpeedOf(sides);
    }
  }

  bool Explain(const LinkCell& cell) const {
    if (cell.resource != Resource::kNic) return false;
    const Sides& sides = sides_.at(KindOf(cell));
    return Explains(sides.out, cell.source, sides.typical_out, sides.port_speed, cell) ||
           Explains(sides.in, cell.destination, sides.typical_in, sides.port_speed, cell);
  }

 private:
  using Ports = std::map<RankIndex, PortSide>;
  static constexpr double kLeastWhole = 0.9;  // of one port's speed, by all connections together
  struct Sides {
    Ports out;
    Ports in;
    PortSide typical_out;
    PortSide typical_in;
    double port_speed = 0;  // what all connections of a port that is well move together
  };

  static uint32_t KindOf(const LinkCell& cell) { return cell.kind; }
  static void Add(PortSide& side, const LinkCell& cell) {
    const double channels = std::max(1.0, static_cast<double>(cell.channels));
    side.connections += channels;
    side.bytes += static_cast<double>(cell.bytes);
    side.speed += channels * cell.speed();
  }
  // Some have more to do than others, so that not all are at their limit: what a quarter of them
  // and more reach.
  static double PortSpeedOf(const Sides& sides) {
    std::vector<double> speeds;
    for (const auto& [rank, side] : sides.out) speeds.push_back(side.speed);
    for (const auto& [rank, side] : sides.in) speeds.push_back(side.speed);
    const auto quarter = speeds.begin() + static_cast<std::ptrdiff_t>(3 * speeds.size() / 4);
    std::ranges::nth_element(speeds, quarter);
    return *quarter;
  }
  static PortSide TypicalOf(const Ports& ports) {
    std::vector<double> connections;
    std::vector<double> bytes;
    for (const auto& [rank, side] : ports) {
      connections.push_back(side.connections);
      bytes.push_back(side.bytes);
    }
    return {.connections = Median(std::span(connections)), .bytes = Median(std::span(bytes))};
  }
  // Most other ports with as many connections, where there are any.
  static bool AreFastSideBySide(const Ports& ports, RankIndex port, double speed) {
    size_t others = 0;
    size_t fast = 0;
    for (const auto& [rank, side] : ports) {
      if (rank == port || side.connections != ports.at(port).connections) continue;
      ++others;
      fast += side.speed >= kLeastWhole * speed * side.connections ? 1 : 0;
    }
    return 2 * fast > others;
  }
  static bool Explains(const Ports& ports, RankIndex port, const PortSide& typical,
                       double port_speed, const LinkCell& cell) {
    constexpr double kMore = 1.5;  // a fault slows a port, it does not give it more to move
    constexpr double kMostWhole = 1.1;
    const PortSide& side = ports.at(port);
    const bool more = side.connections > typical.connections && side.bytes >= kMore * typical.bytes;
    const bool whole =
        side.speed >= kLeastWhole * port_speed && side.speed <= kMostWhole * port_speed;
    return more && whole && !AreFastSideBySide(ports, port, cell.peers_speed);
  }

  std::map<uint32_t, Sides> sides_;  // by the kind of communicators that both ends are in
};

}  // namespace eroica
