// Names the NIC, NVLink, host or path that makes collectives slow for everybody. Claim, evidence and silence: README.md beside this file.
#pragma once

#include "diagnosis/link_matrix/hot_spots.h"
#include "diagnosis/operator.h"

namespace eroica {

class LinkMatrixOperator final : public DiagnosisOperator {
 public:
  explicit LinkMatrixOperator(HotSpotOptions options = {}) : options_(options) {}
  std::string_view name() const override { return "link_matrix"; }
  std::string_view version() const override { return "1"; }
  void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const override;

 private:
  HotSpotOptions options_;
};

}  // namespace eroica
