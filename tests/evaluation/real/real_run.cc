#include "tests/evaluation/real/real_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "ops/cli/job_coverage.h"
#include "tests/evaluation/real/varied_batch_sink.h"
#include "tests/evaluation/score/job_run.h"

namespace eroica {
namespace {

constexpr char kAsItIs[] = "as it is";
constexpr char kNoStacks[] = "no stacks";
constexpr char kNoStepMarks[] = "no step marks";

std::string PartName(RecordedPart part, bool culprit_recorded) {
  if (part == RecordedPart::kAllButOne) return culprit_recorded ? "less one" : "less the culprit";
  return fmt::format("{}{}", ToString(part), culprit_recorded ? "" : ", culprit out");
}

// What the importer would have reported of the variation.
ImportReport AsImported(ImportReport report, const Variation& variation) {
  const auto ranks = static_cast<uint32_t>(variation.ranks.size());
  report.ranks = variation.ranks;
  report.ranks_with_steps =
      variation.step_marks == StepMarks::kKept ? std::min(report.ranks_with_steps, ranks) : 0;
  report.ranks_with_stacks = variation.stacks ? std::min(report.ranks_with_stacks, ranks) : 0;
  return report;
}

}  // namespace

std::string ColumnOf(const RealRun& run) {
  if (run.variation.step_marks != StepMarks::kKept) return kNoStepMarks;
  if (!run.variation.stacks) return kNoStacks;
  if (run.variation.part == RecordedPart::kAll) return kAsItIs;
  return PartName(run.variation.part, run.culprit_recorded);
}

std::vector<std::string> RealColumns() {
  std::vector<std::string> columns = {kAsItIs, kNoStacks};
  for (const RecordedPart part : {RecordedPart::kHalf, RecordedPart::kQuarter,
                                  RecordedPart::kOneOfEach, RecordedPart::kAllButOne}) {
    columns.push_back(PartName(part, true));
    columns.push_back(PartName(part, false));
  }
  columns.emplace_back(kNoStepMarks);
  return columns;
}

absl::StatusOr<RealRun> RunReal(const RealJob& job, const Variation& variation) {
  absl::StatusOr<std::unique_ptr<JobRun>> stages = JobRun::Create(SummarizeOptions());
  if (!stages.ok()) return stages.status();
  VariedBatchSink sink(**stages, variation);
  for (const EventBatch& batch : variation.stacks ? job.batches : job.without_stacks) {
    if (absl::Status status = sink.Write(batch); !status.ok()) return status;
  }
  if (absl::Status status = (*stages)->Align(); !status.ok()) return status;
  absl::StatusOr<std::vector<SaidFinding>> said = (*stages)->Diagnose();
  if (!said.ok()) return said.status();
  const RealTruth truth = TruthOf(job, variation);
  RealRun run{.job = job.name,
              .healthy = job.healthy(),
              .variation = variation,
              .culprit_recorded = !truth.recorded.empty() || truth.unrecorded.empty(),
              .expected = job.expected,
              .said = *std::move(said),
              .gaps = {},
              .verdict = {}};
  const absl::StatusOr<JobCoverage> coverage =
      MeasureJobCoverage((*stages)->log(), std::string(kDefaultTopicPrefix));
  if (!coverage.ok()) return coverage.status();
  run.gaps = job.imported ? FindTraceGaps(AsImported(*job.imported, variation), *coverage)
                          : FindLiveGaps(*coverage);
  run.verdict = JudgeReal(truth, run.said, run.gaps);
  return run;
}

absl::StatusOr<std::vector<RealRun>> RunVariations(const RealJob& job,
                                                   const VariationProgress& progress) {
  const std::vector<Variation> variations = VariationsOf(job);
  std::vector<RealRun> runs;
  for (const Variation& variation : variations) {
    absl::StatusOr<RealRun> run = RunReal(job, variation);
    if (!run.ok()) return run.status();
    runs.push_back(*std::move(run));
    if (!progress) continue;
    if (absl::Status status = progress(runs.size(), variations.size()); !status.ok()) return status;
  }
  return runs;
}

OutcomeCounts CountOutcomes(std::span<const RealRun> runs) {
  OutcomeCounts counts{};
  for (const RealRun& run : runs) ++counts[static_cast<size_t>(run.verdict.outcome)];
  return counts;
}

}  // namespace eroica
