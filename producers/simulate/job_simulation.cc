#include "producers/simulate/job_simulation.h"

#include "producers/simulate/fault_plan.h"
#include "producers/simulate/job_engine.h"
#include "producers/simulate/program_builder.h"

namespace eroica::simulate {

absl::StatusOr<SimulationReport> Simulate(const SimulatedJob& job, BatchSink& sink, const SimulationProgress& progress) {
  if (absl::Status status = Check(job); !status.ok()) return status;
  const GroupTable groups(job.layout, job.job);
  FunctionCatalog catalog;
  const std::vector<RankProgram> programs = BuildPrograms(job, catalog);
  const FaultPlan plan(job, catalog);
  JobEngine engine(job, groups, programs, catalog, plan, sink);
  return engine.Run(progress);
}

}  // namespace eroica::simulate
