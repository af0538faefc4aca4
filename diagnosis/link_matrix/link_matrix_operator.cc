#include "diagnosis/link_matrix/link_matrix_operator.h"

#include "diagnosis/finding_measures.h"
#include "diagnosis/link_matrix/link_claim.h"

namespace eroica {

void LinkMatrixOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  const WindowTime time = TimeOf(view);
  if (time.steps == 0) return;
  const size_t before = findings.size();
  const std::vector<LinkCell> cells = MeasureLinks(view);
  for (const HotSpot& spot : FindHotSpots(view, cells, time.ns, options_)) findings.push_back(DescribeHotSpot(view, spot, time, options_));
  if (findings.size() == before) EvaluateFaint(view, cells, time, findings);
}

// What is a little slow beside a slow link is its victim more often than not: asked for only where nothing is. What is as slow as that and merely costs less is seen as
// well as that.
void LinkMatrixOperator::EvaluateFaint(const CrossRankView& view, std::span<const LinkCell> cells, const WindowTime& time,
                                       std::vector<Finding>& findings) const {
  for (const HotSpot& spot : FindHotSpots(view, cells, time.ns, faint_)) {
    if (spot.kind == HotSpotKind::kScattered) continue;  // of little slowness in many places nothing is learnt
    Finding finding = DescribeHotSpot(view, spot, time, faint_);
    const bool only_cheap = IsSlow(*spot.cells.front(), options_);
    finding.evidence.push_back({std::string(kSeenInWindows), "count", 1, 0, only_cheap ? kCheapWindows : kFaintWindows, 1});
    findings.push_back(std::move(finding));
  }
}

}  // namespace eroica
