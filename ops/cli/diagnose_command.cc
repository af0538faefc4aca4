// eroica diagnose: traces in, findings out, all in this process and in memory.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "ops/cli/capture_gaps.h"
#include "ops/cli/commands.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/finding_filter.h"
#include "ops/cli/finding_text.h"
#include "ops/cli/import_into_log.h"
#include "ops/cli/job_coverage.h"
#include "ops/cli/local_page.h"
#include "ops/cli/progress_bar.h"
#include "ops/cli/stages.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/terminal.h"
#include "ops/cli/wrapped_text.h"
#include "ops/findings/audit_entry.h"
#include "ops/findings/finding_reader.h"
#include "schemas/finding_json.h"
#include "schemas/printable_text.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/bounded_run.h"
#include "stream_ops/runtime/topic_layout.h"

namespace eroica {
namespace {

struct DiagnoseFlags {
  TraceFlags traces;
  bool json = false;
  bool open = false;
};

struct Diagnosis {
  ImportReport report;
  StageProbe probe;  // of all stages
  std::vector<Finding> findings;
  CaptureGaps gaps;
  bool undecided() const { return findings.empty() && gaps.undecided; }
};

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
  absl::StatusOr<std::vector<Finding>> read = ReadAllFindings(**reader);
  if (!read.ok()) return read.status();
  std::vector<Finding> findings = LatestVersions(*std::move(read));
  SortByWeight(&findings);
  return findings;
}

// log: empty, with its topics. imported: called before the stages begin.
absl::StatusOr<Diagnosis> Diagnose(const TraceFlags& traces, Log& log,
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
  return diagnosis;
}

// A line what was imported, one a finding, one what is left open: each is an object.
std::string ImportedJsonLine(const ImportReport& report) {
  return fmt::format("{{\"import\":{}}}\n", ImportReportJson(report));
}

std::string FoundJsonLines(const Diagnosis& diagnosis) {
  std::string lines;
  for (const Finding& finding : diagnosis.findings) lines += ToJson(finding) + "\n";
  return lines + fmt::format("{{\"cannot_tell\":{},\"left_open\":{}}}\n", diagnosis.undecided(),
                             PrintableJson(nlohmann::json(diagnosis.gaps.sentences)
                                               .dump(-1, ' ', false,
                                                     nlohmann::json::error_handler_t::replace)));
}

std::string GapsText(const CaptureGaps& gaps) {
  constexpr size_t kIndent = 2;
  std::string text = gaps.sentences.empty() ? "" : "\nLeft open by what was recorded:\n";
  for (const std::string& sentence : gaps.sentences)
    text += Wrapped("- " + sentence, OutputWidth(), kIndent) + "\n";
  return text;
}

std::string AsText(const Diagnosis& diagnosis) {
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

int ExitCodeOf(const Diagnosis& diagnosis) {
  if (!diagnosis.findings.empty()) return kExitFindings;
  return diagnosis.undecided() ? kExitCannotTell : kExitNothingFound;
}

absl::StatusOr<std::unique_ptr<LocalPage>> OpenPage(Log& log) {
  if (absl::Status status = log.admin().CreateTopic({.name = AuditTopicName(kDefaultTopicPrefix)});
      !status.ok())
    return status;
  return LocalPage::Open(NodeConfig(), log);
}

// Until Ctrl-C.
absl::Status ServeUntilStopped(LocalPage& page) {
  constexpr std::chrono::milliseconds kLook{100};
  CatchStopSignals();
  if (absl::Status status = page.Serve([] { return std::map<std::string, StageProbe>(); });
      !status.ok())
    return status;
  std::cerr << "Ctrl-C ends it.\n" << std::flush;
  while (!StopRequested()) std::this_thread::sleep_for(kLook);
  return absl::OkStatus();
}

absl::StatusOr<int> RunDiagnose(const DiagnoseFlags& flags) {
  MemoryLog log;
  if (absl::Status status = CreateMissingTopics(log.admin(), kDefaultTopicPrefix, TopicLayout());
      !status.ok())
    return status;
  std::unique_ptr<LocalPage> page;
  if (flags.open) {
    absl::StatusOr<std::unique_ptr<LocalPage>> opened = OpenPage(log);
    if (!opened.ok()) return opened.status();
    page = *std::move(opened);
  }
  const absl::StatusOr<Diagnosis> diagnosis =
      Diagnose(flags.traces, log, page == nullptr ? nullptr : page->board(),
               [&flags](const ImportReport& report) {
                 if (flags.json) std::cout << ImportedJsonLine(report) << std::flush;
               });
  if (!diagnosis.ok()) return diagnosis.status();
  std::cout << (flags.json ? FoundJsonLines(*diagnosis) : AsText(*diagnosis)) << std::flush;
  if (page != nullptr) {
    if (absl::Status status = ServeUntilStopped(*page); !status.ok()) return status;
  }
  return ExitCodeOf(*diagnosis);
}

}  // namespace

void AddDiagnoseCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<DiagnoseFlags>();
  CLI::App* command =
      app.add_subcommand("diagnose", "Find the culprit in the traces of one job; needs no Kafka");
  flags->traces.AddTo(*command);
  command->add_flag("--json", flags->json,
                    "JSON, an object a line: what was imported, each finding, what is left open");
  command->add_flag("--open", flags->open,
                    "Then serve the dashboard of this job on 127.0.0.1 until Ctrl-C, and open it");
  command->footer(
      "Examples:\n"
      "  eroica diagnose traces/\n"
      "  eroica diagnose traces/ --open\n"
      "  eroica diagnose rank*.json.gz --json | jq -r 'select(.id) | .title'\n\n"
      "Exit codes: 0 nothing found, 1 findings, 2 error, 3 cannot tell (ranks, steps or "
      "step marks are missing).");
  command->callback([flags, exit_code] {
    const absl::StatusOr<int> code = RunDiagnose(*flags);
    *exit_code = code.ok() ? *code : ExitWithError(code.status());
  });
}

}  // namespace eroica
