// eroica findings: what diagnosis has said, from a findings topic or from the state store of a
// node.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/finding_filter.h"
#include "ops/cli/finding_follow.h"
#include "ops/cli/finding_screen.h"
#include "ops/cli/finding_text.h"
#include "ops/cli/host_record_text.h"
#include "ops/cli/known_jobs.h"
#include "ops/cli/open_log.h"
#include "ops/cli/state_flag.h"
#include "ops/cli/state_reading.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/stored_findings.h"
#include "ops/cli/terminal.h"
#include "ops/cli/wrapped_text.h"
#include "ops/findings/finding_reader.h"
#include "schemas/finding_json.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

struct FindingsFlags {
  ConfigFlags config;
  FindingFilter filter;
  StateFlag state;
  bool follow = false;
  bool by_host = false;
  bool brief = false;
  bool json = false;
};

FindingTextOptions TextOptions() { return {.width = OutputWidth(), .color = ColorsOutput()}; }

void Print(const Finding& finding, const FindingsFlags& flags) {
  if (flags.json) {
    std::cout << ToJson(finding) << "\n";
  } else {
    std::cout << (flags.brief ? TimedFindingLine(finding, ColorsOutput())
                              : FindingText(finding, TextOptions()) + "\n");
  }
}

void PrintHosts(const std::vector<Finding>& findings, bool json) {
  for (const HostRecord& record : RecordsByHost(findings))
    std::cout << (json ? HostRecordJson(record) + "\n" : HostRecordText(record));
}

// What is no finding: beside the findings where a program reads them.
void Remark(const std::string& text, size_t indent, const FindingsFlags& flags) {
  if (IsQuiet()) return;
  const bool apart = flags.json || flags.brief || flags.by_host;
  (apart ? std::cerr : std::cout) << Wrapped(text, apart ? ErrorWidth() : OutputWidth(), indent)
                                  << "\n";
}

int PrintNone(const absl::StatusOr<NoFindings>& none, const FindingsFlags& flags) {
  if (!none.ok()) return ExitWithError(none.status());
  Remark(none->text, 0, flags);
  for (const std::string& reason : none->reasons) Remark("- " + reason, 2, flags);
  return none->exit_code();
}

// explain: what to say where none is open; called with the number of those that are resolved.
template <typename Explain>
int PrintLatest(std::vector<Finding> findings, const FindingsFlags& flags, const Explain& explain) {
  std::erase_if(findings, [&](const Finding& finding) {
    return !FindingFilter{.job = flags.filter.job}.Wants(finding);
  });
  const size_t of_job = findings.size();
  const auto is_open = [](const Finding& finding) {
    return finding.state != FindingState::kResolved;
  };
  const bool any_open = std::ranges::any_of(findings, is_open);
  std::erase_if(findings, [&](const Finding& finding) { return !flags.filter.Wants(finding); });
  if (findings.empty() && any_open) {
    Remark(fmt::format("None of {} finding{} is what was asked for (--since, --severity, --open, "
                       "--kind, --rank).",
                       of_job, of_job == 1 ? "" : "s"),
           0, flags);
    return kExitNothingFound;
  }
  SortByWeight(&findings);
  if (flags.by_host && !findings.empty()) {
    PrintHosts(findings, flags.json);
  } else {
    for (const Finding& finding : findings) Print(finding, flags);
  }
  if (!any_open) return PrintNone(explain(of_job), flags);
  return std::ranges::any_of(findings, is_open) ? kExitFindings : kExitNothingFound;
}

void ReportMalformed(uint64_t malformed) {
  if (malformed > 0)
    std::cerr << fmt::format("eroica: skipped {} records that are no finding\n", malformed);
}

absl::StatusOr<int> List(Log& log, FindingReader& reader, const NodeConfig& config,
                         const FindingsFlags& flags) {
  absl::StatusOr<std::vector<Finding>> findings = ReadAllFindings(reader);
  if (!findings.ok()) return findings.status();
  return PrintLatest(LatestVersions(*std::move(findings)), flags, [&](size_t resolved) {
    return NoFindingsBehind(log, config, flags.filter.job, resolved);
  });
}

absl::StatusOr<int> ListStored(const NodeConfig& config, const FindingsFlags& flags) {
  const absl::StatusOr<std::unique_ptr<const RocksDbStore>> store =
      OpenState(flags.state.Folder(config));
  if (!store.ok()) return store.status();
  absl::StatusOr<StoredFindings> stored = ReadStoredFindings(**store, "");
  if (!stored.ok()) return stored.status();
  ReportMalformed(stored->malformed);
  return PrintLatest(
      std::move(stored->findings), flags, [&](size_t resolved) -> absl::StatusOr<NoFindings> {
        const absl::StatusOr<KnownJobs> known = JobsOfStore(**store);
        if (!known.ok()) return known.status();
        return ExplainNoFindings(*known, QuestionOf(config, flags.filter.job, resolved));
      });
}

absl::StatusOr<int> ReadTopic(const NodeConfig& config, const FindingsFlags& flags) {
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(config, LogAccess::kRead);
  if (!log.ok()) return log.status();
  const absl::StatusOr<std::unique_ptr<FindingReader>> reader =
      FindingReader::Open(**log, config.node.topic_prefix);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<int> exit_code = kExitNothingFound;
  if (flags.follow) {
    CatchStopSignals();
    FindingScreen screen(&std::cout,
                         flags.json    ? FindingForm::kJson
                         : flags.brief ? FindingForm::kBrief
                                       : FindingForm::kFull,
                         TextOptions());
    exit_code = FollowFindings(**reader, flags.filter, /*every_version=*/flags.json, &screen);
  } else {
    exit_code = List(**log, **reader, config, flags);
  }
  if (exit_code.ok()) ReportMalformed((*reader)->malformed());
  return exit_code;
}

int Run(const FindingsFlags& flags) {
  const absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return ExitWithError(config.status());
  const absl::StatusOr<int> exit_code =
      flags.state.IsGiven() ? ListStored(*config, flags) : ReadTopic(*config, flags);
  return exit_code.ok() ? *exit_code : ExitWithError(exit_code.status());
}

}  // namespace

void AddFindingsCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<FindingsFlags>();
  CLI::App* command = app.add_subcommand("findings", "List what was found, or follow it");
  flags->config.AddTo(*command);
  AddFilterFlags(*command, &flags->filter);
  CLI::Option* state = flags->state.AddTo(*command);
  auto* by_host = command->add_flag(
      "--by-host", flags->by_host,
      "What was found about each host, over all jobs; hosts that slow several jobs come first");
  command
      ->add_flag("-f,--follow", flags->follow,
                 "Show how things stand, then what is found from now on, until Ctrl-C; with --json "
                 "every version that was ever said")
      ->excludes(state)
      ->excludes(by_host);
  auto* brief = command->add_flag("--brief", flags->brief, "One line a finding");
  command->add_flag("--json", flags->json, "One JSON object a line")->excludes(brief);
  command->footer(
      "Examples:\n"
      "  eroica findings --recording recording/\n"
      "  eroica findings --bootstrap localhost:9092 --follow --severity major\n"
      "  eroica findings --bootstrap localhost:9092 --since 2h --open --json | jq .title\n"
      "  eroica findings --state recording.state/ --job night      what a node knows, without the "
      "log\n"
      "  eroica findings --state recording.state/ --by-host        hosts that slow one job after "
      "the other\n\n"
      "A list shows each finding in its last state: open ones first, the gravest first. Exit "
      "codes: 0 no open finding, 1 findings, 2 error, 3 cannot tell (no finding is open, and no "
      "node has run, the job is not known, or not all of it was recorded).");
  command->callback([flags, exit_code] { *exit_code = Run(*flags); });
}

}  // namespace eroica
