#include "diagnosis/link_matrix/link_matrix_operator.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/link_matrix/link_claim.h"
#include "diagnosis/link_matrix/route_advice.h"
#include "diagnosis/report/finding_measures.h"

namespace eroica {
namespace {

// Each connection is slower than its peers by six spreads and more, in all that it carried in the
// window: a single one may have been busy for a while, but two of one place at once are no
// coincidence, however few the steps. The connections of a path between two hosts do not count as
// several: all that goes over it is slow together, as in the window in which a job changes its
// size.
void CountConnections(const HotSpot& spot, Finding& finding) {
  if (spot.kind == HotSpotKind::kLink) return;
  constexpr int kConnections = 2;
  finding.evidence.push_back({std::string(kSignsThatAgree), "count",
                              static_cast<double>(spot.cells.size()), 0, kConnections, 1});
}

// Where a port goes down within a window, its data goes over its neighbor's for the rest: both look
// slow, and the next window says which it is.
bool HasSlowNeighbor(const CrossRankView& view, std::span<const HotSpot> spots,
                     const HotSpot& spot) {
  if (spot.kind != HotSpotKind::kRank || spot.resource != Resource::kNic) return false;
  const std::string& host = view.ranks()[spot.ranks.front()].batch->host;
  return std::ranges::any_of(spots, [&](const HotSpot& other) {
    return other.kind == spot.kind && other.resource == spot.resource &&
           other.ranks != spot.ranks && view.ranks()[other.ranks.front()].batch->host == host;
  });
}

}  // namespace

void LinkMatrixOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  const WindowTime time = TimeOf(view);
  if (time.steps == 0) return;
  const size_t before = findings.size();
  const std::vector<LinkCell> cells = MeasureLinks(view);
  const std::vector<HotSpot> spots = FindHotSpots(view, cells, time.ns, options_);
  for (const HotSpot& spot : spots) {
    findings.push_back(DescribeHotSpot(view, spot, time, options_));
    findings.back().suggested_action += " " + RouteAdvice(view, spot, cells, options_);
    if (HasSlowNeighbor(view, spots, spot)) {
      findings.back().evidence.push_back(
          {std::string(kSeenInWindows), "count", 1, 0, kWindowsOfNeighbors, 1});
    } else {
      CountConnections(spot, findings.back());
    }
  }
  if (findings.size() == before) EvaluateFaint(view, cells, time, findings);
}

// What is a little slow beside a slow link is its victim more often than not, so that it is looked
// for only where no link is slow. Fewer windows are enough for a connection that is as slow as a
// slow link and merely costs less, and for many connections of one place that are a little slow
// together: healthy ones differ from each other for good, but each by itself.
void LinkMatrixOperator::EvaluateFaint(const CrossRankView& view, std::span<const LinkCell> cells,
                                       const WindowTime& time,
                                       std::vector<Finding>& findings) const {
  for (const HotSpot& spot : FindHotSpots(view, cells, time.ns, faint_)) {
    if (spot.kind == HotSpotKind::kScattered)
      continue;  // of little slowness in many places nothing is learnt
    Finding finding = DescribeHotSpot(view, spot, time, faint_);
    finding.suggested_action += " " + RouteAdvice(view, spot, cells, faint_);
    const bool is_plain =
        IsSlow(*spot.cells.front(), options_) || spot.cells.size() >= kManyConnections;
    finding.evidence.push_back(
        {std::string(kSeenInWindows), "count", 1, 0, is_plain ? kPlainWindows : kFaintWindows, 1});
    findings.push_back(std::move(finding));
  }
}

}  // namespace eroica
