#include "diagnosis/link_matrix/link_matrix_operator.h"

#include "diagnosis/link_matrix/link_claim.h"

namespace eroica {

void LinkMatrixOperator::Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const {
  const WindowTime time = TimeOf(view);
  if (time.steps == 0) return;
  const std::vector<LinkCell> cells = MeasureLinks(view);
  for (const HotSpot& spot : FindHotSpots(view, cells, time.ns, options_)) findings.push_back(DescribeHotSpot(view, spot, time, options_));
}

}  // namespace eroica
