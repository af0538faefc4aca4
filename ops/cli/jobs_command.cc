// eroica jobs: the jobs that nodes know, from a running node, from the log that nodes work on, or
// from a node's state store.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/listed_job.h"
#include "ops/cli/node_flags.h"
#include "ops/cli/open_log.h"
#include "ops/cli/state_flag.h"
#include "ops/cli/state_reading.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/stored_findings.h"
#include "ops/cli/terminal.h"
#include "ops/cli/wrapped_text.h"
#include "ops/findings/finding_reader.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

struct JobsFlags {
  ConfigFlags config;
  NodeFlags node;
  StateFlag state;
  bool only_running = false;
  bool json = false;
};

// Jobs, and what is to be said where there are none.
struct JobsFound {
  std::vector<ListedJob> jobs;
  std::string none;
  std::vector<std::string> remarks;
};

absl::StatusOr<JobsFound> AskNode(const JobsFlags& flags) {
  CatchStopSignals();
  const absl::StatusOr<NodeClient> client = flags.node.Open();
  if (!client.ok()) return client.status();
  absl::StatusOr<NodeJobs> listed = ListJobs(*client);
  if (!listed.ok()) return listed.status();
  JobsFound found{.jobs = std::move(listed->jobs),
                  .none = "No jobs: the node has diagnosed no window of any job yet.",
                  .remarks = {}};
  for (const std::string& node : listed->unreachable)
    found.remarks.push_back(fmt::format("The node {} did not answer: its jobs are missing.", node));
  return found;
}

std::string NoneText(const KnownJobs& known, const std::string& source,
                     const std::string& node_command) {
  return known.node_has_run
             ? "No jobs: a node has run, and no job has reported yet."
             : fmt::format("No jobs: no node has run over {} yet. Run `{}`.", source, node_command);
}

JobsFound FoundIn(const KnownJobs& known, std::span<const Finding> findings, std::string none) {
  JobsFound found{.jobs = ListJobs(known, findings), .none = std::move(none), .remarks = {}};
  if (!known.is_whole)
    found.remarks.emplace_back("There was no time to read of all jobs: ask again.");
  for (const std::string& sentence : known.lost)
    found.remarks.push_back(fmt::format("warning: {}", Printable(sentence)));
  return found;
}

absl::StatusOr<JobsFound> ReadState(const NodeConfig& config, const JobsFlags& flags) {
  const std::string folder = flags.state.Folder(config);
  const absl::StatusOr<std::unique_ptr<const RocksDbStore>> store = OpenState(folder);
  if (!store.ok()) return store.status();
  const absl::StatusOr<StoredFindings> stored = ReadStoredFindings(**store, "");
  if (!stored.ok()) return stored.status();
  const absl::StatusOr<KnownJobs> known = JobsOfStore(**store);
  if (!known.ok()) return known.status();
  return FoundIn(*known, stored->findings, NoneText(*known, folder, "eroica node"));
}

absl::StatusOr<JobsFound> ReadLog(const NodeConfig& config) {
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(config, LogAccess::kRead);
  if (!log.ok()) return log.status();
  const absl::StatusOr<KnownJobs> known = JobsBehind(**log, config);
  if (!known.ok()) return known.status();
  const absl::StatusOr<std::unique_ptr<FindingReader>> reader =
      FindingReader::Open(**log, config.node.topic_prefix);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<std::vector<Finding>> findings = ReadAllFindings(**reader);
  if (!findings.ok()) return findings.status();
  const bool kafka = !config.kafka.bootstrap.empty();
  const std::string source = kafka ? config.kafka.bootstrap : config.node.recording;
  const std::string command = kafka ? fmt::format("eroica node --bootstrap {}", source)
                                    : fmt::format("eroica node --recording {} --drain", source);
  return FoundIn(*known, LatestVersions(*std::move(findings)), NoneText(*known, source, command));
}

absl::StatusOr<JobsFound> Find(const JobsFlags& flags) {
  if (flags.node.IsGiven()) return AskNode(flags);
  if (absl::Status status = flags.node.CheckUnused(); !status.ok()) return status;
  const absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return config.status();
  return flags.state.IsGiven() ? ReadState(*config, flags) : ReadLog(*config);
}

void Remark(const std::string& text) {
  if (!IsQuiet()) std::cerr << Wrapped(text, ErrorWidth(), 0) << "\n";
}

int Run(const JobsFlags& flags) {
  absl::StatusOr<JobsFound> found = Find(flags);
  if (!found.ok()) return ExitWithError(found.status());
  for (const std::string& remark : found->remarks) Remark(remark);
  if (found->jobs.empty()) {
    Remark(found->none);
    return kExitCannotTell;
  }
  if (flags.only_running)
    std::erase_if(found->jobs, [](const ListedJob& job) { return job.state != "running"; });
  if (found->jobs.empty()) Remark("No job is running.");
  SortByGravity(&found->jobs);
  if (flags.json) {
    for (const ListedJob& job : found->jobs) std::cout << ToJson(job) << "\n";
  } else if (!found->jobs.empty()) {
    std::cout << JobTable(found->jobs, OutputWidth());
  }
  return kExitNothingFound;
}

}  // namespace

void AddJobsCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<JobsFlags>();
  CLI::App* command =
      app.add_subcommand("jobs", "List the jobs that nodes know, and what is open about them");
  flags->config.AddTo(*command);
  flags->state.AddTo(*command);
  flags->node.AddTo(*command);
  flags->node.Exclude(
      *command, {"--config", "--set", "--bootstrap", "--recording", "--topic-prefix", "--state"});
  command->add_flag("--running", flags->only_running, "Only jobs that are running");
  command->add_flag("--json", flags->json, "One JSON object a line");
  command->footer(
      "Examples:\n"
      "  eroica jobs --recording recording/\n"
      "  eroica jobs --bootstrap localhost:9092 --running\n"
      "  eroica jobs --node http://127.0.0.1:8470 --json | jq .open_findings\n"
      "  eroica jobs --state recording.state/            what a node knows, without the log\n\n"
      "The jobs with the gravest open findings come first. undiagnosed: no window of the job is "
      "yet; forgotten: its findings are all that is left of it. Exit codes: 0 jobs are listed, 2 "
      "error, 3 cannot tell (no node has run, or no job has reported).");
  command->callback([flags, exit_code] { *exit_code = Run(*flags); });
}

}  // namespace eroica
