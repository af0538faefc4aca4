#include "tests/evaluation/simulate/job_engine.h"

#include <algorithm>
#include <utility>

#include "schemas/check.h"
#include "tests/evaluation/simulate/hang_report.h"

namespace eroica::simulate {
namespace {

std::vector<StageProgram> MakeStages(const SimulatedJob& job,
                                     const std::vector<RankProgram>& programs,
                                     const FunctionCatalog& catalog) {
  const bool launches = job.telemetry.launches && job.telemetry.level != CaptureLevel::kCollectives;
  std::vector<StageProgram> stages;
  for (const RankProgram& program : programs)
    stages.push_back(MakeStageProgram(program, catalog, job.layout, launches));
  return stages;
}

}  // namespace

JobEngine::JobEngine(const SimulatedJob& job, const GroupTable& groups,
                     const std::vector<RankProgram>& programs, const FunctionCatalog& catalog,
                     const EffectSource& effects, BatchSink& sink)
    : JobEngine(job, groups, programs, catalog, effects, sink,
                {.end_step = job.steps, .layout = job.layout}, {}) {}

JobEngine::JobEngine(const SimulatedJob& job, const GroupTable& groups,
                     const std::vector<RankProgram>& programs, const FunctionCatalog& catalog,
                     const EffectSource& effects, BatchSink& sink, const JobStretch& stretch,
                     SimulationReport before)
    : job_(job),
      stretch_(stretch),
      stages_(MakeStages(job, programs, catalog)),
      runner_(job, groups, stages_, catalog, effects),
      sampler_(job, runner_, before.job_ns + stretch.pause_ns),
      writer_(job, groups, stages_, catalog, runner_, sink, stretch.number),
      report_(std::move(before)),
      job_ns_(report_.job_ns + stretch.pause_ns) {
  for (RankState& rank : runner_.ranks()) rank.host_ns = rank.device_ns = job_ns_;
}

absl::StatusOr<SimulationReport> JobEngine::Run(const SimulationProgress& progress) {
  std::vector<RankState>& ranks = runner_.ranks();
  absl::Status status;
  for (uint32_t step = stretch_.first_step;
       step < stretch_.end_step && status.ok() && !report_.hangs; ++step) {
    runner_.Run(step);
    const auto is = [](RankCondition condition) {
      return [condition](const RankState& rank) { return rank.condition == condition; };
    };
    const auto finished = std::count_if(ranks.begin(), ranks.end(), is(RankCondition::kStepDone));
    const auto dead = std::count_if(ranks.begin(), ranks.end(), is(RankCondition::kDead));
    const auto all = static_cast<int64_t>(ranks.size());
    if (dead == all) break;
    report_.hangs = finished + dead < all && (finished == 0 || step + 1 == stretch_.end_step);
    if (report_.hangs) runner_.Stall();
    Account(finished == all);
    status = ReportStep(step);
    if (status.ok() && progress && finished > 0) status = progress(step + 1, job_ns_);
  }
  if (status.ok() && report_.hangs) status = ReportStandstill(progress, report_.steps);
  if (!status.ok()) return status;
  report_.events += writer_.events();
  report_.lost += writer_.lost();
  report_.job_ns = job_ns_;
  return report_;
}

absl::Status JobEngine::ReportStep(uint32_t step) {
  for (RankState& rank : runner_.ranks()) {
    if (rank.condition == RankCondition::kDead) continue;
    const bool ends = step + 1 == stretch_.end_step && rank.rank >= stretch_.leaves_from;
    const bool final = ends && rank.condition == RankCondition::kStepDone && !rank.stalled;
    if (absl::Status status = writer_.Write(rank, sampler_.Collect(rank), final); !status.ok())
      return status;
  }
  runner_.Forget();
  return absl::OkStatus();
}

bool JobEngine::StandsStill(const RankState& rank) const {
  return rank.condition == RankCondition::kResting || rank.condition == RankCondition::kHangs ||
         rank.stalled;
}

absl::Status JobEngine::ReportStandstill(const SimulationProgress& progress, uint32_t steps_done) {
  for (int number = 1; number <= kStandstillReports; ++number) {
    const int64_t time_ns = job_ns_ + number * kStandstillPeriodNs;
    for (const RankState& rank : runner_.ranks()) {
      if (!StandsStill(rank)) continue;
      ProgressReport report = DescribeStandstill(rank, stages_[rank.stage], runner_, time_ns);
      std::vector<ConnectionSample> connections;
      if (job_.telemetry.connections)
        connections = DescribeStalledConnections(rank, runner_, time_ns, kStandstillPeriodNs);
      absl::Status status = writer_.WriteProgress(rank, std::move(report), std::move(connections),
                                                  number == kStandstillReports);
      if (!status.ok()) return status;
    }
    if (!progress) continue;
    if (absl::Status status = progress(steps_done, time_ns); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void JobEngine::Account(bool all_finished) {
  const int64_t latest_ns = std::max(job_ns_, LatestNs());
  if (all_finished) {
    ++report_.steps;
    report_.step_ns.push_back(latest_ns - job_ns_);
  }
  job_ns_ = latest_ns;
}

int64_t JobEngine::LatestNs() {
  int64_t latest_ns = 0;
  for (const RankState& rank : runner_.ranks()) {
    latest_ns = std::max(latest_ns, rank.host_ns);
    if (rank.device_ns < kNeverNs) latest_ns = std::max(latest_ns, rank.device_ns);
  }
  return latest_ns;
}

}  // namespace eroica::simulate
