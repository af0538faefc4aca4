// What differs between the ranks and the steps of a job in which nothing is wrong: machines of one
// kind, the noise that a step shares with its neighbors, lengths, routing, warm-up, and loaders
// that keep a rank waiting now and then.
#pragma once

#include <cstdint>
#include <memory>

#include "tests/evaluation/simulate/function_catalog.h"
#include "tests/evaluation/simulate/hardware_spread.h"
#include "tests/evaluation/simulate/micro_batch_lengths.h"
#include "tests/evaluation/simulate/noise.h"
#include "tests/evaluation/simulate/simulated_job.h"
#include "tests/evaluation/simulate/step_effects.h"

namespace eroica::simulate {

// Pure: the same answer for a rank and step, in any order of asking.
class JobVariation {
 public:
  // Adds the functions that it runs to the catalog. Requires Check(job).ok(). Keeps its own copy of
  // what it needs. first_step: of the processes, which warm up.
  JobVariation(const SimulatedJob& job, FunctionCatalog& catalog, uint32_t first_step);

  void AddTo(uint32_t rank, uint32_t step, StepEffects& effects) const;

 private:
  void Warm(uint32_t step, StepEffects& effects) const;
  void DrawLength(uint32_t rank, uint32_t step, StepEffects& effects) const;
  void Route(uint32_t rank, uint32_t step, StepEffects& effects) const;
  void Disturb(uint32_t rank, uint32_t step, StepEffects& effects) const;
  void WaitForLoader(uint32_t rank, uint32_t step, StepEffects& effects) const;
  uint32_t ReplicaOf(uint32_t rank) const {
    return rank / (layout_.tensor * layout_.context) % layout_.data;
  }

  ParallelLayout layout_;
  Noise noise_;
  LoaderWait loader_wait_;
  uint32_t loader_function_ = 0;
  uint64_t seed_;
  uint32_t first_step_;
  uint32_t warmup_steps_;
  double warmup_factor_;
  bool micro_batches_shared_;
  HardwareSpread hardware_;
  std::unique_ptr<LogNormalTable> lengths_;  // null: all sequences are equally long
  std::unique_ptr<LogNormalTable> routing_;  // null: no experts, or all get equally many tokens
  std::unique_ptr<MicroBatchLengths> micro_batches_;  // null: all are equally long
  std::unique_ptr<CorrelatedNoise> step_noise_;       // null: a step's parts have nothing in common
};

}  // namespace eroica::simulate
