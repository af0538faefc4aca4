#include "ops/cli/trace_diagnosis.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "ops/cli/finding_filter.h"
#include "ops/cli/finding_text.h"
#include "ops/cli/job_coverage.h"
#include "ops/cli/progress_bar.h"
#include "ops/cli/stages.h"
#include "ops/cli/terminal.h"
#include "ops/cli/wrapped_text.h"
#include "ops/findings/finding_reader.h"
#include "schemas/finding_json.h"
#include "schemas/printable_text.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/runtime/bounded_run.h"

namespace eroica {
namespace {

// board: nullptr where nobody looks.
absl::StatusOr<StageProbe> RunTopology(Log& log, std::shared_ptr<JobBoard> board) {
  InMemoryStore store;
  const Topology topology =
      EroicaTopology(NodeConfig(), RunLength::kBounded, nullptr, std::move(board));
  BoundedRun run(log, store, topology, BoundedRunOptions());
  ProgressBar bar(ProgressStream(), "diagnosing", std::chrono::steady_clock::now());
  for (bool more = true; more;) {
    const absl::StatusOr<bool> step = run.Step();
    if (!step.ok()) return step.status();
    more = *step;
    bar.Update(0, 0, std::chrono::steady_clock::now());
  }
  return run.probe();
}

absl::StatusOr<std::vector<Finding>> FindingsIn(Log& log) {
  const absl::StatusOr<std::unique_ptr<FindingReader>> reader =
      FindingReader::Open(log, std::string(kDefaultTopicPrefix));
  if (!reader.ok()) return reader.status();
  // The run is over: what is not there does not come.
  absl::StatusOr<std::vector<Finding>> read =
      ReadAllFindings(**reader, std::chrono::milliseconds(0));
  if (!read.ok()) return read.status();
  std::vector<Finding> findings = LatestVersions(*std::move(read));
  SortByWeight(&findings);
  return findings;
}

std::string LeftOpenJsonLine(bool undecided, const std::vector<std::string>& sentences) {
  return fmt::format("{{\"cannot_tell\":{},\"left_open\":{}}}\n", undecided,
                     PrintableJson(nlohmann::json(sentences).dump(
                         -1, ' ', false, nlohmann::json::error_handler_t::replace)));
}

std::string GapsText(const CaptureGaps& gaps) {
  constexpr size_t kIndent = 2;
  std::string text = gaps.sentences.empty() ? "" : "\nLeft open by what was recorded:\n";
  for (const std::string& sentence : gaps.sentences)
    text += Wrapped("- " + sentence, OutputWidth(), kIndent) + "\n";
  return text;
}

}  // namespace

absl::StatusOr<Diagnosis> DiagnoseTraces(const TraceFlags& traces, Log& log,
                                         std::shared_ptr<JobBoard> board,
                                         const std::function<void(const ImportReport&)>& imported) {
  Diagnosis diagnosis;
  absl::StatusOr<ImportReport> report = ImportIntoLog(traces, log, LogBatchSinkOptions());
  if (!report.ok()) return report.status();
  diagnosis.report = *std::move(report);
  imported(diagnosis.report);
  const absl::StatusOr<StageProbe> probe = RunTopology(log, std::move(board));
  if (!probe.ok()) return probe.status();
  diagnosis.probe = *probe;
  absl::StatusOr<std::vector<Finding>> findings = FindingsIn(log);
  if (!findings.ok()) return findings.status();
  diagnosis.findings = *std::move(findings);
  const absl::StatusOr<JobCoverage> coverage =
      MeasureJobCoverage(log, std::string(kDefaultTopicPrefix));
  if (!coverage.ok()) return coverage.status();
  diagnosis.gaps = FindTraceGaps(diagnosis.report, *coverage);
  if (diagnosis.report.stalled_only && diagnosis.findings.empty() &&
      diagnosis.gaps.sentences.empty())
    diagnosis.gaps = StandstillWithoutReason();
  if (diagnosis.findings.empty()) {
    AddLongSteps(*coverage, &diagnosis.gaps);
    AddUnrecordedWork(*coverage, &diagnosis.gaps);
    if (!diagnosis.gaps.undecided) AddBusiestRank(*coverage, &diagnosis.gaps);
    if (!diagnosis.gaps.undecided) AddStageAlone(*coverage, &diagnosis.gaps);
  }
  return diagnosis;
}

std::string ImportedJsonLine(const ImportReport& report) {
  return fmt::format("{{\"import\":{}}}\n", ImportReportJson(report));
}

std::string FoundJsonLines(const Diagnosis& diagnosis) {
  std::string lines;
  for (const Finding& finding : diagnosis.findings) lines += ToJson(finding) + "\n";
  return lines + LeftOpenJsonLine(diagnosis.undecided(), diagnosis.gaps.sentences);
}

std::string CannotTellJsonLine(const std::string& why) { return LeftOpenJsonLine(true, {why}); }

std::string CannotTellText(const std::string& why) {
  return WrappedLines(fmt::format("Cannot tell: {}\n", why), OutputWidth(), 2);
}

std::string DiagnosisText(const Diagnosis& diagnosis) {
  std::string text = IsQuiet() ? "" : WrappedLines(diagnosis.report.ToText(), OutputWidth(), 2);
  for (const auto& [reason, count] : diagnosis.probe.dead_letters) {
    text += fmt::format("warning: {} records were not used: {}\n", count, ToString(reason));
  }
  const size_t count = diagnosis.findings.size();
  if (diagnosis.undecided()) {
    text += "\nCannot tell: nothing stands out in what was recorded, and that does not suffice.\n";
  } else if (count == 0) {
    text += "\nNothing found: no rank or function stands out from its peers.\n";
  } else {
    text += fmt::format("\n{} finding{}\n", count, count == 1 ? "" : "s");
  }
  const FindingTextOptions options{.width = OutputWidth(), .color = ColorsOutput()};
  for (const Finding& finding : diagnosis.findings) text += "\n" + FindingText(finding, options);
  return text + GapsText(diagnosis.gaps);
}

}  // namespace eroica
