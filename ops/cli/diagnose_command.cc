// eroica diagnose: traces in, findings out, all in this process and in memory.
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "ops/cli/commands.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/import_into_log.h"
#include "ops/cli/local_page.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/trace_diagnosis.h"
#include "ops/findings/audit_entry.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/runtime/topic_layout.h"

namespace eroica {
namespace {

struct DiagnoseFlags {
  TraceFlags traces;
  bool json = false;
  bool open = false;
};

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
      DiagnoseTraces(flags.traces, log, page == nullptr ? nullptr : page->board(),
                     [&flags](const ImportReport& report) {
                       if (flags.json) std::cout << ImportedJsonLine(report) << std::flush;
                     });
  if (absl::IsFailedPrecondition(diagnosis.status())) {
    const std::string why(diagnosis.status().message());
    std::cout << (flags.json ? CannotTellJsonLine(why) : CannotTellText(why)) << std::flush;
    return kExitCannotTell;
  }
  if (!diagnosis.ok()) return diagnosis.status();
  std::cout << (flags.json ? FoundJsonLines(*diagnosis) : DiagnosisText(*diagnosis)) << std::flush;
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
