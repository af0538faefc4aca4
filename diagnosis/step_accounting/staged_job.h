// Jobs of which only the steps matter, for the tests of the accounting and of those who use it: how
// long each rank's stages took, and how long it waited in them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

// Times in milliseconds. Ranks have the steps 0 to steps - 1, all the same until Set or SetStep
// changes them.
class StagedJob {
 public:
  using Stages = std::array<double, kStepStageCount>;  // data, forward, backward, optimizer

  StagedJob(uint32_t world_size, uint32_t steps, Stages stages, double wait = 0) {
    batches_.resize(world_size);
    for (uint32_t rank = 0; rank < world_size; ++rank) {
      PatternBatch& batch = batches_[rank];
      batch.job = JobId{"staged"};
      batch.rank = RankId{rank};
      batch.world_size = world_size;
      batch.window = {.kind = WindowKind::kSteps,
                      .index = 0,
                      .start_ns = 0,
                      .end_ns = 0,
                      .first_step = 0,
                      .last_step = steps - 1};
      for (uint32_t step = 0; step < steps; ++step) batch.steps.push_back({.id = step});
      Set(rank, stages, wait);
    }
  }

  StagedJob& Set(uint32_t rank, Stages stages, double wait) {
    for (uint32_t step = 0; step < batches_[rank].steps.size(); ++step)
      SetStep(rank, step, stages, wait);
    return *this;
  }
  StagedJob& SetStep(uint32_t rank, uint32_t step, Stages stages, double wait) {
    StepRecord& record = batches_[rank].steps[step];
    record.duration_ns = 0;
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      record.stage_ns[stage] = static_cast<int64_t>(stages[stage] * 1e6);
      record.duration_ns += record.stage_ns[stage];
    }
    record.peer_wait_ns = static_cast<int64_t>(wait * 1e6);
    return *this;
  }
  StagedJob& Role(uint32_t rank, std::string_view role) {
    batches_[rank].role = role;
    return *this;
  }

  std::vector<PatternBatch>& batches() { return batches_; }
  CrossRankView View() const { return {batches_, {}}; }

 private:
  std::vector<PatternBatch> batches_;
};

}  // namespace eroica
