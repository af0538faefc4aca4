// Compares one function among the ranks of one role. Owner: one caller at a time; its memory is
// recycled from role to role.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/differential/column_summary.h"
#include "diagnosis/differential/differential_score.h"
#include "diagnosis/differential/role_statistics.h"

namespace eroica {

// The rows of a function's column that belong to a role.
struct RoleRows {
  const FunctionColumn* function = nullptr;
  uint32_t role = 0;
  uint32_t members = 0;           // ranks of the role, those without the function too
  std::span<const uint32_t> row;  // in the column, per row here; empty: the same
  PatternColumns columns{};
  size_t rows = 0;

  size_t ColumnRow(size_t i) const { return row.empty() ? i : row[i]; }
  PatternPoint Point(size_t i) const { return {columns[0][i], columns[1][i], columns[2][i]}; }
};

// The order of DifferentialResult::scores.
bool WorseThan(const DifferentialScore& a, const DifferentialScore& b);

class RoleComparer {
 public:
  explicit RoleComparer(const DifferentialOptions& options) : options_(options) {}

  // Appends to the result: nothing where no rank reaches the least beta, or where a rank has no
  // peer.
  void Compare(RoleRows rows, const ExpectationRange& range, uint64_t seed,
               DifferentialResult* result);

 private:
  void FillUnknownResources(RoleRows* rows);
  void DrawStatisticsSample(const RoleRows& rows, uint64_t seed);
  void MeasureDimensions(const RoleRows& rows);
  PatternPoint PointOfAbsent() const;
  PeerSample DrawPeers(const RoleRows& rows, const PatternPoint& scale, uint64_t seed) const;
  PatternBox UsualBox() const;
  void AddAbsentRanks(const RoleRows& rows, const PeerSample& peers);
  void MeasureDelta(uint32_t sample_size, RoleComparison* comparison) const;
  std::vector<uint32_t> Candidates(const RoleComparison& comparison) const;
  void Score(const RoleRows& rows, const ExpectationRange& range,
             std::span<const uint32_t> candidates, RoleComparison* comparison);
  bool Differs(const RoleRows& rows, size_t i, const RoleComparison& comparison,
               DifferentialScore* score) const;
  int64_t MedianCriticalNs(const RoleRows& rows) const;

  const DifferentialOptions& options_;
  std::array<DimensionStatistics, kPatternDimensions> statistics_;
  std::vector<float> values_;  // of the statistics sample, one dimension
  std::vector<float> mu_;      // with unknown values filled
  std::vector<float> sigma_;
  std::vector<uint32_t> sample_;  // rows that the statistics come from
  size_t absent_in_sample_ = 0;
  RowScreen screen_;
  std::vector<DifferentialScore> scores_;
};

}  // namespace eroica
