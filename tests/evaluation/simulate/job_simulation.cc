#include "tests/evaluation/simulate/job_simulation.h"

#include <fmt/format.h>

#include <utility>

#include "tests/evaluation/simulate/fault_plan.h"
#include "tests/evaluation/simulate/job_engine.h"
#include "tests/evaluation/simulate/job_stretch.h"
#include "tests/evaluation/simulate/program_builder.h"

namespace eroica::simulate {

absl::StatusOr<SimulationReport> Simulate(const SimulatedJob& job, BatchSink& sink,
                                          const SimulationProgress& progress) {
  if (absl::Status status = Check(job); !status.ok()) return status;
  SimulationReport report;
  for (const JobStretch& stretch : StretchesOf(job)) {
    SimulatedJob part = job;
    part.layout = stretch.layout;
    // Processes that are started anew make communicators of their own, also where members are the
    // same.
    const GroupTable groups(
        part.layout, stretch.number == 0 ? job.job : fmt::format("{} {}", job.job, stretch.number));
    FunctionCatalog catalog;
    const std::vector<RankProgram> programs = BuildPrograms(part, catalog);
    const FaultPlan plan(part, catalog, stretch.first_step);
    JobEngine engine(part, groups, programs, catalog, plan, sink, stretch, std::move(report));
    absl::StatusOr<SimulationReport> run = engine.Run(progress);
    if (!run.ok()) return run.status();
    report = *std::move(run);
    if (report.hangs) break;
  }
  return report;
}

}  // namespace eroica::simulate
