// Work of the pipeline stages: critical time a step in everything that is neither a collective nor a wait, by role.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis/cross_rank_view.h"

namespace eroica {

struct StageWork {
  uint32_t role = 0;
  std::string name;               // as the producer calls the role, else "role N"
  std::vector<RankIndex> members;
  double work_ns = 0;             // a step; median over the members
  double least_ns = 0;            // of the members
  double step_ns = 0;             // mean step duration over the members
  uint32_t steps = 0;
};

// By role; empty where no point-to-point traffic runs between roles: then they are no stages of a pipeline.
std::vector<StageWork> MeasureStages(const CrossRankView& view);

}  // namespace eroica
