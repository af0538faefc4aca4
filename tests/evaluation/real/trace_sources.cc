#include "tests/evaluation/real/trace_sources.h"

#include <filesystem>
#include <utility>

#include "producers/import/trace_import.h"
#include "tests/evaluation/real/variation.h"

namespace eroica {
namespace {

class KeptBatches final : public BatchSink {
 public:
  explicit KeptBatches(std::vector<EventBatch>* batches) : batches_(batches) {}
  absl::Status Write(const EventBatch& batch) override {
    batches_->push_back(batch);
    return absl::OkStatus();
  }

 private:
  std::vector<EventBatch>* const batches_;
};

absl::StatusOr<ImportReport> Import(const Scenario& scenario, const std::string& root,
                                    bool python_stacks, std::vector<EventBatch>* batches) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& path : scenario.traces)
    paths.push_back(std::filesystem::path(root) / path);
  ImportOptions options;
  options.job = JobId(scenario.name);
  options.python_stacks = python_stacks;
  KeptBatches kept(batches);
  return ImportTraces(paths, options, kept, nullptr);
}

absl::StatusOr<RealJob> Load(const Scenario& scenario, const std::string& root) {
  RealJob job{.name = scenario.name,
              .expected = scenario.expected,
              .ranks_per_host = scenario.job.layout.ranks_per_host,
              .tensor = scenario.job.layout.tensor};
  absl::StatusOr<ImportReport> report = Import(scenario, root, true, &job.batches);
  if (!report.ok()) return report.status();
  job.imported = *std::move(report);
  if (HasPythonFunctions(job.batches)) {
    const absl::StatusOr<ImportReport> without = Import(scenario, root, false, &job.without_stacks);
    if (!without.ok()) return without.status();
    // A trace that was recorded without stacks has annotations for Python functions already.
    if (job.without_stacks == job.batches) job.without_stacks.clear();
  }
  const size_t steps = StepCountOf(job.batches);
  for (const uint32_t window_steps : {1u, 2u, 4u}) {
    if (steps > window_steps) job.window_steps.push_back(window_steps);
  }
  job.window_steps.push_back(kWholeJob);
  return job;
}

}  // namespace

std::vector<RealJobSource> TraceSources(std::span<const Scenario> scenarios,
                                        const std::string& root) {
  std::vector<RealJobSource> sources;
  for (const Scenario& scenario : scenarios) {
    if (scenario.traces.empty()) continue;
    sources.push_back({scenario.name, [scenario, root] { return Load(scenario, root); }});
  }
  return sources;
}

}  // namespace eroica
