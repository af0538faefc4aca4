// An operator of diagnosis: a pure function of a view. Same view, same findings; it knows no Kafka,
// no RocksDB and no clock. Each lives in its own folder with a README of its claim, its evidence,
// when it keeps silent, and its source.
#pragma once

#include <string_view>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"
#include "schemas/finding.h"

namespace eroica {

class DiagnosisOperator {
 public:
  virtual ~DiagnosisOperator() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view version() const = 0;
  // Appends what it claims of this one window. Ids, states, data quality and the chain of effects
  // are filled in by RootCause.
  virtual void Evaluate(const CrossRankView& view, std::vector<Finding>& findings) const = 0;
};

}  // namespace eroica
