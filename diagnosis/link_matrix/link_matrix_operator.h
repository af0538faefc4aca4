// Names the NIC, NVLink, host or path that makes collectives slow for everybody. Claim, evidence
// and silence: README.md beside this file.
#pragma once

#include <span>
#include <string>

#include "diagnosis/link_matrix/hot_spots.h"
#include "diagnosis/link_matrix/link_claim.h"
#include "diagnosis/operator.h"

namespace eroica {

class LinkMatrixOperator final : public DiagnosisOperator {
 public:
  // faint: what is told only where it was so in several windows (ClaimMemory). Real connections
  // that carry the same differ by 2 to 4 % for good (speed_groups.h).
  explicit LinkMatrixOperator(HotSpotOptions options = {},
                              HotSpotOptions faint = {.slow_share = 0.93,
                                                      .min_share_of_step = 0.01,
                                                      .fewest_compared = kFewSpeeds})
      : options_(options), faint_(faint) {}
  std::string_view name() const override { return "link_matrix"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  static constexpr double kFaintWindows = 3;
  static constexpr double kPlainWindows = 2;
  static constexpr size_t kManyConnections = 4;
  static constexpr double kWindowsOfNeighbors = 2;

  void EvaluateFaint(const CrossRankView& view, std::span<const LinkCell> cells,
                     const WindowTime& time, std::vector<Finding>& findings) const;

  HotSpotOptions options_;
  HotSpotOptions faint_;
};

}  // namespace eroica
