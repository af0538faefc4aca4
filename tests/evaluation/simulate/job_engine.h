// The simulation of job_simulation.h with its parts in hand: programs, faults and fabric come from
// outside, so that tests bring their own.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "producers/core/batch_sink.h"
#include "tests/evaluation/simulate/batch_writer.h"
#include "tests/evaluation/simulate/effect_source.h"
#include "tests/evaluation/simulate/function_catalog.h"
#include "tests/evaluation/simulate/job_simulation.h"
#include "tests/evaluation/simulate/job_stretch.h"
#include "tests/evaluation/simulate/parallel_layout.h"
#include "tests/evaluation/simulate/rank_program.h"
#include "tests/evaluation/simulate/sample_writer.h"
#include "tests/evaluation/simulate/simulated_job.h"
#include "tests/evaluation/simulate/stage_program.h"
#include "tests/evaluation/simulate/step_runner.h"

namespace eroica::simulate {

class JobEngine {
 public:
  // How long producers report a standstill, and how often.
  static constexpr int kStandstillReports = 30;
  static constexpr int64_t kStandstillPeriodNs = 1'000'000'000;

  // One program a pipeline stage. All but programs must outlive the engine. Requires
  // Check(job).ok().
  JobEngine(const SimulatedJob& job, const GroupTable& groups,
            const std::vector<RankProgram>& programs, const FunctionCatalog& catalog,
            const EffectSource& effects, BatchSink& sink);
  // Runs this part of the job, whose layout is the part's; before has what was run until then, and
  // is counted on.
  JobEngine(const SimulatedJob& job, const GroupTable& groups,
            const std::vector<RankProgram>& programs, const FunctionCatalog& catalog,
            const EffectSource& effects, BatchSink& sink, const JobStretch& stretch,
            SimulationReport before);
  JobEngine(const JobEngine&) = delete;
  JobEngine& operator=(const JobEngine&) = delete;

  void Shuffle(uint64_t seed) { runner_.Shuffle(seed); }
  // Once.
  absl::StatusOr<SimulationReport> Run(const SimulationProgress& progress = nullptr);

 private:
  absl::Status ReportStep(uint32_t step);
  absl::Status ReportStandstill(const SimulationProgress& progress, uint32_t steps_done);
  void Account(bool all_finished);
  bool StandsStill(const RankState& rank) const;
  int64_t LatestNs();

  const SimulatedJob& job_;
  const JobStretch stretch_;
  std::vector<StageProgram> stages_;
  StepRunner runner_;
  SampleWriter sampler_;
  BatchWriter writer_;
  SimulationReport report_;
  int64_t job_ns_ = 0;  // that the job has run
};

}  // namespace eroica::simulate
