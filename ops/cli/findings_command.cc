// eroica findings: what diagnosis has said, from a findings topic or from the state store of a
// node.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/findings/finding_reader.h"
#include "ops/cli/finding_text.h"
#include "ops/cli/host_record_text.h"
#include "ops/cli/open_log.h"
#include "ops/cli/state_folder.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/stored_findings.h"
#include "schemas/finding_json.h"
#include "state_store/rocksdb_store.h"

namespace eroica {
namespace {

struct FindingsFlags {
  ConfigFlags config;
  std::string job;
  bool from_state = false;
  std::string state;  // empty: the configured folder
  bool follow = false;
  bool by_host = false;
  bool brief = false;
  bool json = false;
};

void Print(const Finding& finding, const FindingsFlags& flags) {
  if (flags.json) {
    std::cout << ToJson(finding) << std::endl;
  } else {
    std::cout << (flags.brief ? FindingLine(finding) : FindingText(finding) + "\n") << std::flush;
  }
}

bool Wanted(const Finding& finding, const FindingsFlags& flags) {
  return flags.job.empty() || finding.job.value == flags.job;
}

void PrintHosts(const std::vector<Finding>& findings, bool json) {
  for (const HostRecord& record : RecordsByHost(findings))
    std::cout << (json ? HostRecordJson(record) + "\n" : HostRecordText(record));
  std::cout << std::flush;
}

int PrintLatest(std::vector<Finding> findings, const FindingsFlags& flags) {
  std::erase_if(findings, [&](const Finding& finding) { return !Wanted(finding, flags); });
  if (flags.by_host) {
    PrintHosts(findings, flags.json);
  } else {
    for (const Finding& finding : findings) Print(finding, flags);
  }
  const auto is_open = [](const Finding& finding) {
    return finding.state != FindingState::kResolved;
  };
  return std::ranges::any_of(findings, is_open) ? kExitFindings : kExitNothingFound;
}

void ReportMalformed(uint64_t malformed) {
  if (malformed > 0)
    std::cerr << fmt::format("eroica: skipped {} records that are no finding\n", malformed);
}

absl::StatusOr<int> List(FindingReader& reader, const FindingsFlags& flags) {
  absl::StatusOr<std::vector<Finding>> findings = ReadAllFindings(reader);
  if (!findings.ok()) return findings.status();
  return PrintLatest(LatestVersions(*std::move(findings)), flags);
}

absl::StatusOr<int> ListStored(const NodeConfig& config, const FindingsFlags& flags) {
  constexpr Table kTables[] = {Table::kFindings};
  const RocksDbStoreOptions options{
      .folder = flags.state.empty() ? StateFolder(config) : flags.state,
      .memory_bytes = size_t{16} << 20};
  const absl::StatusOr<std::unique_ptr<const RocksDbStore>> store =
      RocksDbStore::OpenReadOnly(options, kTables);
  if (!store.ok()) return store.status();
  const absl::StatusOr<StoredFindings> stored = ReadStoredFindings(**store, flags.job);
  if (!stored.ok()) return stored.status();
  ReportMalformed(stored->malformed);
  return PrintLatest(stored->findings, flags);
}

// Until somebody says stop. An error that may pass is waited out by the next poll.
absl::StatusOr<int> Follow(FindingReader& reader, const FindingsFlags& flags) {
  int printed = 0;
  std::vector<Finding> findings;
  while (!StopRequested()) {
    findings.clear();
    const absl::Status status = reader.Poll(std::chrono::milliseconds(250), &findings);
    if (!status.ok() && !absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status))
      return status;
    for (const Finding& finding : findings) {
      if (!Wanted(finding, flags)) continue;
      Print(finding, flags);
      ++printed;
    }
  }
  return printed > 0 ? kExitFindings : kExitNothingFound;
}

absl::StatusOr<int> ReadTopic(const NodeConfig& config, const FindingsFlags& flags) {
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(config, LogAccess::kRead);
  if (!log.ok()) return log.status();
  const absl::StatusOr<std::unique_ptr<FindingReader>> reader =
      FindingReader::Open(**log, config.node.topic_prefix);
  if (!reader.ok()) return reader.status();
  if (flags.follow) CatchStopSignals();
  absl::StatusOr<int> exit_code = flags.follow ? Follow(**reader, flags) : List(**reader, flags);
  if (exit_code.ok()) ReportMalformed((*reader)->malformed());
  return exit_code;
}

int Run(const FindingsFlags& flags) {
  const absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return ExitWithError(config.status());
  const absl::StatusOr<int> exit_code =
      flags.from_state ? ListStored(*config, flags) : ReadTopic(*config, flags);
  return exit_code.ok() ? *exit_code : ExitWithError(exit_code.status());
}

}  // namespace

void AddFindingsCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<FindingsFlags>();
  CLI::App* command = app.add_subcommand("findings", "List what was found, or follow it");
  flags->config.AddTo(*command);
  command->add_option("--job", flags->job, "Only of this job")->type_name("JOB");
  auto* state = command
                    ->add_option("--state", flags->state,
                                 "From the state store of a node, also of a running one; without "
                                 "DIR the configured one")
                    ->type_name("[DIR]")
                    ->expected(0, 1);
  auto* by_host = command->add_flag(
      "--by-host", flags->by_host,
      "What was found about each host, over all jobs: a host that recurs is first");
  command
      ->add_flag("-f,--follow", flags->follow,
                 "Print all that was said, then what is said from now on, until Ctrl-C")
      ->excludes(state)
      ->excludes(by_host);
  command->add_flag("--brief", flags->brief, "One line a finding");
  command->add_flag("--json", flags->json, "One JSON object a line");
  command->footer(
      "Examples:\n"
      "  eroica findings --recording recording/\n"
      "  eroica findings --bootstrap localhost:9092 --follow --json | jq .title\n"
      "  eroica findings --state recording.state/ --job night      what a node knows, without the "
      "log\n"
      "  eroica findings --state recording.state/ --by-host        hosts that slow one job after "
      "the other\n\n"
      "A list shows each finding in its last state. Exit codes: 0 no open finding, 1 findings, 2 "
      "error.");
  command->callback([flags, state, exit_code] {
    flags->from_state = state->count() > 0;
    *exit_code = Run(*flags);
  });
}

}  // namespace eroica
