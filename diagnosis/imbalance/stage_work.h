// Work of the pipeline stages: critical time a step in everything that is neither a collective nor
// a wait, by role.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnosis/hypotheses/device_cause.h"
#include "diagnosis/hypotheses/kernel_growths.h"
#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

struct StageWork {
  uint32_t role = 0;
  std::string name;  // as the producer calls the role, else "role N"
  std::vector<RankIndex> members;
  double work_ns = 0;   // a step; median over the members: of kernels, where there are any
  double all_ns = 0;    // likewise of everything that is neither a collective nor a wait
  double least_ns = 0;  // of the members
  // standard error of work_ns where stacks are sampled (sampled_stacks.h), else 0
  double error_ns = 0;
  double step_ns = 0;  // mean step duration over the members
  uint32_t steps = 0;
  // by step: median over the members of what is left without waiting for peers
  std::vector<double> busy_ns;
};

// What is neither a collective nor a wait, be it for a processor: who shares one with a neighbor
// has no heavier stage. Nor is a call that hands data to a communicator work of a layer.
bool IsWork(const FunctionPattern& pattern);

// By role; empty where no point-to-point traffic runs between roles: then they are no stages of a
// pipeline.
std::vector<StageWork> MeasureStages(const CrossRankView& view);

// How many more layers a stage computes than the others: by kernels that all stages run, so that
// what only one of them has (embedding, head, loss) does not count. More or longer layers lengthen
// all of these; a head that shares a kernel's name with the layers lengthens that one only.
struct StageLayers {
  size_t stage = 0;  // position in the stages that were given
  // two thirds of the kernel time grew by this share at least, against the median of the other
  // stages
  double growth = 0;
  // the same of three quarters of the members: a few heavy ones are slow ranks, a few light ones
  // have shorter inputs
  double least = 0;
  double spread = 0;     // of the other stages among each other
  double others_ns = 0;  // a step, in kernels that all stages run: the median of the other stages
  bool beside_experts = false;  // whose kernels have not grown, as they would on a slow device
  uint32_t kernels = 0;         // that grew by half of it and more
  std::optional<double> clock_growth;  // of the SM clock and use; nothing where it is not sampled
  // of how often they are called a step: with layers, not with their length
  double calls_growth = 0;
  std::optional<double> typical_growth;  // of the median call; nothing where it is not known
  KernelGrowths by_bound;                // of one call of the kernels on data
  // a step, of what works on parameters; nothing where a stage shows no such kernel
  std::optional<double> parameter_growth;

  double excess_ns() const { return growth * others_ns; }  // a step
  // For hypotheses/device_cause.h. members: of the stage, whose devices are taken together;
  // slow_share: of the steps.
  KernelChanges changes(size_t members, double slow_share) const;
};

// The stage whose layers take longest; kernels of experts do not count, nor ranks of which events
// are missing. Nothing where kernels are not recorded, or where the stages have fewer than three in
// common.
std::optional<StageLayers> FindHeavyLayers(const CrossRankView& view,
                                           std::span<const StageWork> stages);

}  // namespace eroica
