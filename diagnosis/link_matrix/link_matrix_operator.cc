#include "diagnosis/link_matrix/link_matrix_operator.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "diagnosis/duration_text.h"

namespace eroica {
namespace {

std::string_view LinkName(Resource resource) {
  switch (resource) {
    case Resource::kNvlink: return "NVLink";
    case Resource::kPcieTx: return "PCIe";
    default: return "NIC";
  }
}

std::string SpeedText(double bytes_per_ns) { return fmt::format("{:.3g} GB/s", bytes_per_ns); }

// Steps and time of the window, over the ranks that have steps.
struct WindowTime {
  double ns = 0;
  double steps = 0;
};

WindowTime TimeOf(const CrossRankView& view) {
  WindowTime time;
  double ranks = 0;
  for (const RankView& rank : view.ranks()) {
    if (rank.batch->silent || rank.batch->steps.empty()) continue;
    for (const StepRecord& step : rank.batch->steps) time.ns += static_cast<double>(step.duration_ns);
    time.steps += static_cast<double>(rank.batch->steps.size());
    ++ranks;
  }
  if (ranks == 0) return {};
  return {.ns = time.ns / ranks, .steps = time.steps / ranks};
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
    finding.confidence = spot_.kind == HotSpotKind::kLink ? 0.8 : 0.95;
    finding.evidence = Evidence(options);
    finding.title = fmt::format("{} at {}, connections like it at {}: collectives over it end late for all, {} a step.", Subject(),
                                SpeedText(worst_.speed()), SpeedText(worst_.peers_speed), DurationText(finding.lost_ns_per_step));
    finding.explanation = Explanation();
    finding.suggested_action = Action();
    const PatternBatch& batch = *view_.ranks()[worst_.source].batch;
    if (!batch.steps.empty()) {
      finding.first_step = batch.steps.front().id;
      finding.last_step = batch.steps.back().id;
    }
    if (spot_.kind == HotSpotKind::kLink) {
      finding.caveats.push_back(fmt::format(
          "Only this connection is slow: whether the sending side of rank {}, the path or the receiving side of rank {} is to blame "
          "cannot be told without other traffic over the same ports.",
          Rank(worst_.source), Rank(worst_.destination)));
    }
    return finding;
  }

 private:
  uint32_t Rank(RankIndex index) const { return view_.ranks()[index].rank.value; }
  const std::string& Host(RankIndex index) const { return view_.ranks()[index].batch->host; }
  std::string Place(RankIndex index) const {
    return Host(index).empty() ? fmt::format("rank {}", Rank(index)) : fmt::format("rank {} on {}", Rank(index), Host(index));
  }

  std::string Subkind() const {
    switch (spot_.kind) {
      case HotSpotKind::kLink: return "link";
      case HotSpotKind::kSender: return "sender";
      case HotSpotKind::kReceiver: return "receiver";
      case HotSpotKind::kRank: return spot_.resource == Resource::kNic ? "nic" : spot_.resource == Resource::kNvlink ? "nvlink" : "pcie";
      case HotSpotKind::kHosts: return "host";
    }
    return "";
  }

  std::vector<Culprit> Culprits() const {
    std::vector<Culprit> culprits;
    for (const RankIndex rank : spot_.ranks) {
      if (spot_.kind == HotSpotKind::kHosts) {
        culprits.push_back({.rank = -1, .host = Host(rank)});
      } else {
        culprits.push_back({.rank = static_cast<int32_t>(Rank(rank)), .host = Host(rank), .device = view_.ranks()[rank].batch->device});
      }
    }
    if (spot_.kind == HotSpotKind::kLink) culprits.front().peer = static_cast<int32_t>(Rank(spot_.destination));
    return culprits;
  }

  std::string Subject() const {
    const std::string_view link = LinkName(spot_.resource);
    switch (spot_.kind) {
      case HotSpotKind::kLink:
        return fmt::format("The {} path from {} to {} carries data", link, Place(worst_.source), Place(worst_.destination));
      case HotSpotKind::kSender: return fmt::format("The {} of {} sends", link, Place(spot_.ranks.front()));
      case HotSpotKind::kReceiver: return fmt::format("The {} of {} receives", link, Place(spot_.ranks.front()));
      case HotSpotKind::kRank: return fmt::format("The {} of {} sends and receives", link, Place(spot_.ranks.front()));
      case HotSpotKind::kHosts: break;
    }
    std::string hosts;
    for (const RankIndex rank : spot_.ranks) hosts += (hosts.empty() ? "" : ", ") + Host(rank);
    return fmt::format("{} {} {} data", spot_.ranks.size() == 1 ? "Host" : "Hosts", hosts,
                       spot_.ranks.size() == 1 ? "exchanges" : "exchange");
  }

  std::string Explanation() const {
    return fmt::format(
        "Of the {} slow connections the worst, from rank {} to rank {}, was busy for {} a step to carry {:.3g} MB; at the median speed of "
        "{} connections of the same "
        "kind it takes {}. All members of a collective wait for its slowest link, so every rank's collectives look long and nobody arrives "
        "late.",
        spot_.cells.size(), Rank(worst_.source), Rank(worst_.destination), DurationText(static_cast<double>(worst_.busy_ns) / time_.steps),
        static_cast<double>(worst_.bytes) / time_.steps / 1e6, worst_.peers,
        DurationText(static_cast<double>(worst_.bytes) / worst_.peers_speed / time_.steps));
  }

  std::string Action() const {
    switch (spot_.kind) {
      case HotSpotKind::kLink:
        return fmt::format("Test the path between {} and {} in both directions, with large messages.", Place(worst_.source),
                           Place(worst_.destination));
      case HotSpotKind::kHosts: return "Look at the switch and the uplinks that these hosts share.";
      default: break;
    }
    return fmt::format("Check the {} of {}: link state and width, error and retransmission counters; move the rank away until then.",
                       LinkName(spot_.resource), Place(spot_.ranks.front()));
  }

  std::vector<Measure> Evidence(const HotSpotOptions& options) const {
    return {{"speed", "GB/s", worst_.speed(), worst_.peers_speed, options.slow_share * worst_.peers_speed, worst_.peers},
            {"busy_time_per_step", "ns", static_cast<double>(worst_.busy_ns) / time_.steps,
             static_cast<double>(worst_.bytes) / worst_.peers_speed / time_.steps, 0, worst_.peers},
            {"slow_connections", "count", static_cast<double>(spot_.cells.size()), 0, 1, worst_.peers}};
  }

  const CrossRankView& view_;
  const HotSpot& spot_;
  const LinkCell& worst_;
  const WindowTime time_;
};

}  // namespace

void LinkMatrixOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  const WindowTime time = TimeOf(view);
  if (time.steps == 0) return;
  const std::vector<LinkCell> cells = MeasureLinks(view);
  for (const HotSpot& spot : FindHotSpots(view, cells, time.ns, options_)) findings.push_back(Claim(view, spot, time).Describe(options_));
}

}  // namespace eroica
