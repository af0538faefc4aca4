#include "tests/evaluation/score/trace_run.h"

#include <filesystem>
#include <memory>

#include "producers/import/trace_import.h"
#include "tests/evaluation/score/job_run.h"
#include "tests/evaluation/score/judged_job.h"

namespace eroica {

absl::StatusOr<std::vector<ScoredRun>> RunTrace(const Scenario& scenario, const std::string& root,
                                                std::span<const Method> methods) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& path : scenario.traces)
    paths.push_back(std::filesystem::path(root) / path);
  absl::StatusOr<std::unique_ptr<JobRun>> run = JobRun::Create(SummarizeOptions());
  if (!run.ok()) return run.status();
  ImportOptions options;
  options.job = JobId(scenario.name);
  const absl::StatusOr<ImportReport> report = ImportTraces(paths, options, **run, nullptr);
  if (!report.ok()) return report.status();
  std::vector<Truth> truths;
  for (const ExpectedFinding& expected : scenario.expected)
    truths.push_back({.expected = expected});
  const RunFacts facts{
      .scenario = scenario.name, .family = scenario.family, .seed = 0, .ranks = report->world_size};
  return JudgeJob(**run, facts, truths, methods, scenario.job.layout.ranks_per_host);
}

}  // namespace eroica
