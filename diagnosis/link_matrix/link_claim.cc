#include "diagnosis/link_matrix/link_claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"

namespace eroica {
namespace {

std::string_view LinkName(Resource resource) {
  switch (resource) {
    case Resource::kNvlink: return "NVLink";
    case Resource::kPcieTx: return "PCIe";
    default: return "NIC";
  }
}

class Claim {
 public:
  Claim(const CrossRankView& view, const HotSpot& spot, const WindowTime& time)
      : view_(view), spot_(spot), worst_(*spot.cells.front()), time_(time) {}

  Finding Describe(const HotSpotOptions& options) const {
    Finding finding;
    finding.kind = FindingKind::kCommunication;
    finding.subkind = Subkind();
    finding.culprits = Culprits();
    finding.function_class = FunctionClass::kCollective;
    finding.lost_ns_per_step = worst_.excess_ns() / time_.steps;
    if (time_.most_waited_ns > 0)
      finding.lost_ns_per_step = std::min(finding.lost_ns_per_step, time_.most_waited_ns);
    finding.confidence = Confidence();
    finding.evidence = Evidence(options);
    finding.title = fmt::format(
        "{} at {}, connections like it at {}: collectives over it end late for all, {} a step.",
        Subject(), SpeedText(worst_.speed()), SpeedText(worst_.peers_speed),
        DurationText(finding.lost_ns_per_step));
    finding.explanation = Explanation();
    finding.suggested_action = Action();
    finding.caveats = Caveats();
    const PatternBatch& batch = *view_.ranks()[worst_.source].batch;
    if (!batch.steps.empty()) {
      finding.first_step = batch.steps.front().id;
      finding.last_step = batch.steps.back().id;
    }
    return finding;
  }

 private:
  uint32_t Rank(RankIndex index) const { return view_.ranks()[index].rank.value; }
  const std::string& Host(RankIndex index) const { return view_.ranks()[index].batch->host; }
  std::string Place(RankIndex index) const {
    return Host(index).empty() ? fmt::format("rank {}", Rank(index))
                               : fmt::format("rank {} on {}", Rank(index), Host(index));
  }
  std::string Hosts() const {
    std::string hosts;
    for (const RankIndex rank : spot_.ranks) hosts += (hosts.empty() ? "" : ", ") + Host(rank);
    return (spot_.ranks.size() == 1 ? "host " : "hosts ") + hosts;
  }
  std::string Ranks() const {
    std::string ranks;
    for (const RankIndex rank : spot_.ranks)
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", Rank(rank));
    return fmt::format("{} {}", spot_.ranks.size() == 1 ? "rank" : "ranks", ranks);
  }
  // Over NVLink, or over PCIe because it is gone.
  std::string_view RankSubkind() const {
    if (worst_.detour) return kNvlinkDown;
    if (spot_.copies > 0) return "pcie";
    return spot_.resource == Resource::kNic      ? "nic"
           : spot_.resource == Resource::kNvlink ? "nvlink"
                                                 : "pcie";
  }

  std::string Subkind() const {
    switch (spot_.kind) {
      case HotSpotKind::kLink: return "link";
      case HotSpotKind::kSender: return "sender";
      case HotSpotKind::kReceiver: return "receiver";
      case HotSpotKind::kRank: return std::string(RankSubkind());
      case HotSpotKind::kSharedNic: return "shared_nic";
      case HotSpotKind::kHosts: return "host";
      case HotSpotKind::kPath: return "path";
      case HotSpotKind::kScattered: return "scattered";
    }
    return "";
  }

  double Confidence() const {
    switch (spot_.kind) {
      case HotSpotKind::kLink: return 0.1;  // a switch is seen by one of its paths, too
      case HotSpotKind::kPath: return 0.85;
      case HotSpotKind::kSharedNic: return 0.9;
      case HotSpotKind::kScattered: return 0.6;
      default: return 0.95;
    }
  }

  std::vector<Culprit> Culprits() const {
    std::vector<Culprit> culprits;
    const bool hosts = spot_.kind == HotSpotKind::kHosts || spot_.kind == HotSpotKind::kPath;
    for (const RankIndex rank : spot_.ranks) {
      if (hosts) {
        culprits.push_back({.rank = -1, .host = Host(rank)});
      } else {
        culprits.push_back({.rank = static_cast<int32_t>(Rank(rank)),
                            .host = Host(rank),
                            .device = view_.ranks()[rank].batch->device});
      }
    }
    if (spot_.kind == HotSpotKind::kLink)
      culprits.front().peer = static_cast<int32_t>(Rank(spot_.destination));
    return culprits;
  }

  std::string Subject() const {
    const std::string_view link = LinkName(spot_.resource);
    switch (spot_.kind) {
      case HotSpotKind::kLink:
        return fmt::format("The {} path from {} to {} carries data", link, Place(worst_.source),
                           Place(worst_.destination));
      case HotSpotKind::kSender:
        return fmt::format("The {} of {} sends", link, Place(spot_.ranks.front()));
      case HotSpotKind::kReceiver:
        return fmt::format("The {} of {} receives", link, Place(spot_.ranks.front()));
      case HotSpotKind::kRank:
        if (worst_.detour)
          return fmt::format("NVLink of {} is down, its data goes over PCIe",
                             Place(spot_.ranks.front()));
        if (spot_.copies > 0)
          return fmt::format("The PCIe slot of {} holds its NIC up, which carries data",
                             Place(spot_.ranks.front()));
        return fmt::format("The {} of {} sends and receives", link, Place(spot_.ranks.front()));
      case HotSpotKind::kSharedNic:
        return fmt::format("Data of {} on host {} goes over fewer NICs than it should", Ranks(),
                           Host(spot_.ranks.front()));
      case HotSpotKind::kHosts:
        return fmt::format("All that {} exchange{} moves", Hosts(),
                           spot_.ranks.size() == 1 ? "s" : "");
      case HotSpotKind::kPath:
        return fmt::format("What {} exchange with the other {} hosts moves", Hosts(),
                           spot_.other_hosts);
      case HotSpotKind::kScattered:
        return fmt::format("{} connections that have no rank and no host in common carry data",
                           spot_.cells.size());
    }
    return "";
  }

  std::string Explanation() const {
    std::string text = fmt::format(
        "Of the {} slow connections the worst, from rank {} to rank {}, was busy for {} a step to "
        "carry {:.3g} MB; at the median speed of "
        "{} connections of the same "
        "kind it takes {}. All members of a collective wait for its slowest link, so every rank's "
        "collectives look long and nobody arrives "
        "late.",
        spot_.cells.size(), Rank(worst_.source), Rank(worst_.destination),
        DurationText(static_cast<double>(worst_.busy_ns) / time_.steps),
        static_cast<double>(worst_.bytes) / time_.steps / 1e6, worst_.peers,
        DurationText(static_cast<double>(worst_.bytes) / worst_.peers_speed / time_.steps));
    if (worst_.detour)
      text += " Its peers exchange the same over NVLink, and nothing of theirs takes PCIe.";
    if (spot_.copies > 0) {
      text += fmt::format(
          " Copies between host and device take {:.1f} times as long there as on its peers, and "
          "pass the same slot.",
          spot_.copies);
    }
    if (spot_.kind == HotSpotKind::kPath)
      text += " Within both groups of hosts data moves at full speed.";
    if (spot_.kind == HotSpotKind::kSharedNic && spot_.ranks.size() == 1) {
      text +=
          " Another rank of the host is slow too, and both together reach the speed of one NIC: "
          "the faster of them lends its own.";
    }
    return text;
  }

  std::string Action() const {
    switch (spot_.kind) {
      case HotSpotKind::kLink:
        return fmt::format(
            "Test the path between {} and {} in both directions, with large messages.",
            Place(worst_.source), Place(worst_.destination));
      case HotSpotKind::kHosts: return "Look at the switch and the uplinks that these hosts share.";
      case HotSpotKind::kPath:
        return "Look at the uplinks between these hosts and the others: lost members, congestion "
               "by other jobs, uneven hashing.";
      case HotSpotKind::kScattered:
        return "Look at how flows are spread over the paths of the network (hash collisions), and "
               "at error counters of its switches.";
      case HotSpotKind::kSharedNic:
        return fmt::format("Check the NICs of host {}: is one down, or has a bond lost a member?",
                           Host(spot_.ranks.front()));
      default: break;
    }
    if (worst_.detour)
      return fmt::format(
          "Check the NVLink of {} (link state, Xid, fabric manager); move the rank away until "
          "then.",
          Place(spot_.ranks.front()));
    if (spot_.copies > 0) {
      return fmt::format(
          "Check the PCIe slot of {}: link width and speed, corrected errors; reseat it or move "
          "the rank away until then.",
          Place(spot_.ranks.front()));
    }
    return fmt::format(
        "Check the {} of {}: link state and width, error and retransmission counters; move the "
        "rank away until then.",
        LinkName(spot_.resource), Place(spot_.ranks.front()));
  }

  std::vector<std::string> Caveats() const {
    if (spot_.kind == HotSpotKind::kPath) {
      return {
          "A path has two sides: it is named by the smaller one, or by the one with the lowest "
          "rank. Hosts that were built with less "
          "bandwidth between them look the same."};
    }
    if (spot_.kind == HotSpotKind::kScattered)
      return {
          "Which part of the network is to blame is undecided: no rank, host or group of hosts has "
          "all of them."};
    if (spot_.kind != HotSpotKind::kLink) return {};
    const std::string sends = fmt::format("the sending side of rank {}", Rank(worst_.source));
    const std::string receives =
        fmt::format("the receiving side of rank {}", Rank(worst_.destination));
    const std::string end =
        " The port counters of both ends and of the switches between them would (discards, pause "
        "frames, symbol errors).";
    if (spot_.source_cleared && spot_.destination_cleared) return {};
    if (spot_.source_cleared)
      return {fmt::format("Undecided: the path or {}; rank {} sends to others at full speed.{}",
                          receives, Rank(worst_.source), end)};
    if (spot_.destination_cleared)
      return {
          fmt::format("Undecided: the path or {}; rank {} receives from others at full speed.{}",
                      sends, Rank(worst_.destination), end)};
    return {fmt::format(
        "Undecided: {}, the path or {} cannot be distinguished without other traffic over "
        "the same ports.{}",
        sends, receives, end)};
  }

  // That exchange data slowly.
  size_t RankPairs() const {
    std::set<std::pair<RankIndex, RankIndex>> pairs;
    for (const LinkCell* cell : spot_.cells)
      pairs.insert(std::minmax(cell->source, cell->destination));
    return pairs.size();
  }

  std::vector<Measure> Evidence(const HotSpotOptions& options) const {
    std::vector<Measure> evidence = {
        {"speed", "GB/s", worst_.speed(), worst_.peers_speed,
         options.slow_share * worst_.peers_speed, worst_.peers},
        {"busy_time_per_step", "ns", static_cast<double>(worst_.busy_ns) / time_.steps,
         static_cast<double>(worst_.bytes) / worst_.peers_speed / time_.steps, 0, worst_.peers},
        {"slow_connections", "count", static_cast<double>(spot_.cells.size()), 0, 1, worst_.peers}};
    if (const size_t pairs = RankPairs(); spot_.kind == HotSpotKind::kLink && pairs > 1) {
      evidence.push_back(
          {std::string(kSlowPairs), "count", static_cast<double>(pairs), 0, 1, worst_.peers});
    }
    if (spot_.copies > 0)
      evidence.push_back({"copies_to_likes", "ratio", spot_.copies, 1, 1.5, worst_.peers});
    if (worst_.detour) {
      double bytes = 0;
      for (const LinkCell* cell : spot_.cells) bytes += static_cast<double>(cell->bytes);
      evidence.push_back(
          {"bytes_over_pcie_per_step", "bytes", bytes / time_.steps, 0, 0, spot_.cells.size()});
    }
    return evidence;
  }

  const CrossRankView& view_;
  const HotSpot& spot_;
  const LinkCell& worst_;
  const WindowTime time_;
};

}  // namespace

WindowTime TimeOf(const CrossRankView& view) {
  WindowTime time;
  double ranks = 0;
  for (const RankView& rank : view.ranks()) {
    if (!rank.has_steps()) continue;
    time.ns += rank.step.duration_ns * rank.step.steps;
    time.steps += rank.step.steps;
    time.most_waited_ns = std::max(time.most_waited_ns, rank.step.wait_ns);
    ++ranks;
  }
  if (ranks == 0) return {};
  time.ns /= ranks;
  time.steps /= ranks;
  return time;
}

Finding DescribeHotSpot(const CrossRankView& view, const HotSpot& spot, const WindowTime& time,
                        const HotSpotOptions& options) {
  return Claim(view, spot, time).Describe(options);
}

}  // namespace eroica
