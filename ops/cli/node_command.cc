// eroica node: the stages as long-running threads, over Kafka or over a recording.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <iostream>
#include <map>
#include <memory>

#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/finding_log.h"
#include "ops/cli/flag_values.h"
#include "ops/cli/logging.h"
#include "ops/cli/lost_entries.h"
#include "ops/cli/node_rest.h"
#include "ops/cli/node_watch.h"
#include "ops/cli/open_log.h"
#include "ops/cli/option_text.h"
#include "ops/cli/stages.h"
#include "ops/cli/state_folder.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/terminal.h"
#include "ops/cli/topic_plan.h"
#include "ops/config/config_text.h"
#include "ops/config/memory_shares.h"
#include "ops/metrics/metric_table.h"
#include "schemas/printable_text.h"
#include "state_store/rocksdb_store.h"
#include "stream_ops/runtime/bounded_run.h"
#include "stream_ops/runtime/node_health.h"
#include "stream_ops/runtime/stage_threads.h"

namespace eroica {
namespace {

using std::chrono::steady_clock;

struct NodeCommandFlags {
  ConfigFlags config;
  std::vector<std::string> roles;
  std::string state;
  bool drain = false;
  bool print_config = false;
  bool json = false;
  bool print_reference = false;
  bool print_metrics_reference = false;
};

// What one stage did, as the last words of a node.
std::string ProbeLine(const std::string& stage, const StageProbe& probe) {
  uint64_t dead_letters = 0;
  for (const auto& [reason, count] : probe.dead_letters) dead_letters += count;
  uint64_t outputs_dropped = 0;
  for (const auto& [reason, count] : probe.outputs_dropped) outputs_dropped += count;
  return fmt::format(
      "{}: received={} processed={} emitted={} dead_lettered={} outputs_dropped={} ignored={} "
      "retries={} corrupt_bytes={} unreadable={}\n",
      stage, probe.records_received, probe.records_processed, probe.records_emitted, dead_letters,
      outputs_dropped, probe.records_ignored, probe.retries, probe.corrupt_bytes,
      probe.records_unreadable);
}

// The log says when the node becomes unhealthy and when it is well again.
void Observe(const std::map<std::string, StageProbe>& probes, NodeHealth* health) {
  if (!health->Observe(probes, steady_clock::now())) return;
  if (health->healthy()) spdlog::info("node: healthy again");
  for (const std::string& reason : health->reasons())
    spdlog::warn("node: unhealthy reason=\"{}\"", reason);
}

void PrintLastWords(const std::map<std::string, StageProbe>& probes, NodeHealth* health) {
  Observe(probes, health);
  for (const auto& [stage, probe] : probes) std::cerr << ProbeLine(stage, probe);
  std::cerr << "node: " << health->Summary() << "\n";
}

absl::Status RunThreads(Log& log, RocksDbStore& store, const NodeConfig& config) {
  const absl::StatusOr<std::unique_ptr<NodeRest>> rest = NodeRest::Open(config, log);
  if (!rest.ok()) return rest.status();
  FindingLog finding_log(steady_clock::now());
  NodeHealth health(HealthOptions(config), steady_clock::now());
  StageThreads threads(log, store,
                       EroicaTopology(config, RunLength::kEndless, nullptr, (*rest)->board(),
                                      finding_log.Listener()),
                       config.node.roles, ThreadOptions(config));
  if (absl::Status status = (*rest)->Start(
          {.stages = [&threads] { return threads.Probes(); }, .health = &health, .store = &store});
      !status.ok())
    return status;
  if (absl::Status status = threads.Start(); !status.ok()) return status;
  spdlog::info("node: running roles={} log={} state={}", fmt::join(config.node.roles, ","),
               config.node.recording.empty() ? config.kafka.bootstrap : config.node.recording,
               StateFolder(config));
  NodeWatch watch(
      [&] {
        const std::map<std::string, StageProbe> probes = threads.Probes();
        Observe(probes, &health);
        finding_log.Progress(probes, steady_clock::now());
      },
      [&] { threads.RequestStop(); });
  absl::Status status = threads.Wait();
  status.Update(threads.Stop());
  status.Update(watch.End());
  PrintLastWords(threads.Probes(), &health);
  (*rest)->Stop();
  return status;
}

// What was cut off, and what the stages have met that was damaged.
std::vector<std::string> AllLost(const LostEntries& cut, const StageProbe& probe) {
  std::vector<std::string> lost = cut.sentences;
  if (probe.corrupt_bytes > cut.bytes)
    lost.push_back(fmt::format("{} bytes of the input are damaged, and what they held is lost",
                               probe.corrupt_bytes - cut.bytes));
  return lost;
}

// What a drain came to, and how the program ends.
absl::StatusOr<int> ReportDrain(Log& log, const StateStore& store, const NodeConfig& config,
                                const std::map<std::string, StageProbe>& probes,
                                const std::vector<std::string>& lost, bool json) {
  for (const std::string& sentence : lost)
    std::cerr << "node: warning: " << Printable(sentence) << "\n";
  const absl::StatusOr<std::string> outcome =
      json ? DrainOutcomeJson(store, probes, lost) : DrainOutcome(log, store, config, lost);
  if (!outcome.ok()) return outcome.status();
  if (json) {
    std::cout << *outcome;
  } else if (!IsQuiet()) {
    std::cerr << "node: " << Printable(*outcome) << "\n";
  }
  return lost.empty() ? kExitNothingFound : kExitCannotTell;
}

// To the end of what is there, every window closed.
absl::StatusOr<int> Drain(Log& log, StateStore& store, const NodeConfig& config, bool json) {
  const absl::StatusOr<LostEntries> cut = FindLostEntries(log, config);
  if (!cut.ok()) return cut.status();
  FindingLog finding_log(steady_clock::now());
  const Topology topology =
      EroicaTopology(config, RunLength::kBounded, nullptr, nullptr, finding_log.Listener());
  BoundedRun run(log, store, topology,
                 {.topic_prefix = config.node.topic_prefix,
                  .replay_id = config.node.replay_id,
                  .poll_records_max = static_cast<size_t>(config.runtime.poll_records_max),
                  .changelog = !config.kafka.bootstrap.empty()});
  const auto probes = [&] {
    std::map<std::string, StageProbe> of_stages;
    for (const Stage& stage : topology.stages()) of_stages[stage.name] = run.probe(stage.name);
    return of_stages;
  };
  NodeHealth health(HealthOptions(config), steady_clock::now());
  for (bool more = true; more && !StopRequested();) {
    const absl::StatusOr<bool> step = run.Step();
    if (!step.ok()) return step.status();
    more = *step;
    Observe(probes(), &health);
    finding_log.Progress(probes(), steady_clock::now());
  }
  PrintLastWords(probes(), &health);
  return ReportDrain(log, store, config, probes(), AllLost(*cut, run.probe()), json);
}

// Who works off a recording that does not exist has mistyped its path; who follows one may be there
// before its producers.
absl::Status RequireRecording(const NodeConfig& config) {
  return config.node.recording.empty() ? absl::OkStatus()
                                       : OpenLog(config, LogAccess::kRead).status();
}

absl::StatusOr<int> RunNode(const NodeConfig& config, bool drain, bool json) {
  SetLogLevel(config.node.log_level);
  CatchStopSignals();
  if (config.runtime.processing_guarantee == "exactly_once" &&
      (drain || config.kafka.bootstrap.empty()))
    return absl::InvalidArgumentError(
        "runtime.processing_guarantee = \"exactly_once\" needs Kafka's transactions, in a node "
        "that "
        "keeps running: give kafka.bootstrap and no --drain, or use \"at_least_once\"");
  if (drain) {
    if (absl::Status status = RequireRecording(config); !status.ok()) return status;
  }
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(config, LogAccess::kWrite);
  if (!log.ok()) return log.status();
  // The topics of a recording come into being with it; those of a Kafka are for its operator to
  // make.
  absl::Status topics = config.node.recording.empty()
                            ? RequirePlannedTopics((*log)->admin(), config)
                            : CreatePlannedTopics((*log)->admin(), config);
  if (!topics.ok()) return topics;
  const absl::StatusOr<std::unique_ptr<RocksDbStore>> store = RocksDbStore::Open(
      {.folder = StateFolder(config),
       .memory_bytes = static_cast<size_t>(SharesOf(config).state),
       .durability =
           config.state.survive_power_loss ? Durability::kPowerLoss : Durability::kProcessDeath});
  if (!store.ok()) return store.status();
  if (drain) return Drain(**log, **store, config, json);
  const absl::Status status = RunThreads(**log, **store, config);
  return status.ok() ? absl::StatusOr<int>(kExitNothingFound) : status;
}

int Run(const NodeCommandFlags& flags) {
  if (flags.print_reference) {
    std::cout << ConfigReference();
    return kExitNothingFound;
  }
  if (flags.print_metrics_reference) {
    std::cout << MetricReference();
    return kExitNothingFound;
  }
  if (flags.json && !flags.drain && !flags.print_config)
    return ExitWithError(absl::InvalidArgumentError(
        "--json goes with --drain or --print-config: a node that follows its log says what it "
        "finds on its topics, and `eroica findings --follow --json` prints that"));
  absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return ExitWithError(config.status());
  if (!flags.roles.empty()) config->node.roles = flags.roles;
  if (!flags.state.empty()) config->state.folder = flags.state;
  if (flags.print_config) {
    std::cout << (flags.json ? ConfigToJson(*config) + "\n" : ConfigToToml(*config));
    return kExitNothingFound;
  }
  const absl::StatusOr<int> code = RunNode(*config, flags.drain, flags.json);
  return code.ok() ? *code : ExitWithError(code.status());
}

}  // namespace

void AddNodeCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<NodeCommandFlags>();
  CLI::App* command = app.add_subcommand("node", "Run the stages, over Kafka or over a recording");
  flags->config.AddTo(*command);
  command
      ->add_option("--role", flags->roles,
                   "Stages to run: summarize, align, diagnose (default: all)")
      ->type_name("ROLE,...")
      ->delimiter(',')
      ->check(OneOf({"summarize", "align", "diagnose"}));
  command
      ->add_option("--state", flags->state,
                   "Folder of the state store (default: beside the recording, else eroica-state)")
      ->type_name("DIR");
  command
      ->add_flag("--drain", flags->drain,
                 "Read to the end of what is there, close every window and stop")
      ->excludes("--role");
  command->add_flag("--print-config", flags->print_config,
                    "Print the configuration as it is used, with every option explained, and stop");
  command->add_flag("--json", flags->json,
                    "With --drain: what it came to; with --print-config: by key; one JSON object");
  command
      ->add_flag("--print-config-reference", flags->print_reference,
                 "Print docs/reference/config.md and stop")
      ->group("");
  command
      ->add_flag("--print-metrics-reference", flags->print_metrics_reference,
                 "Print docs/reference/metrics.md and stop")
      ->group("");
  command->footer(
      "Examples:\n"
      "  eroica node --recording recording/                                 follow a recording\n"
      "  eroica node --recording recording/ --drain                         read it to its end and "
      "stop\n"
      "  eroica node --bootstrap localhost:9092 --role summarize,align      part of the stages; "
      "others elsewhere\n"
      "  eroica node --config node.toml --set runtime.idle_timeout_ms=5000\n\n"
      "Stops in good order on Ctrl-C or SIGTERM. Its log goes to standard error: a line when a "
      "finding opens and when it is resolved, and how it gets on, once a minute at most. Exit "
      "codes: 0 stopped, 2 error, 3 stopped by --drain, and the recording has lost records: what "
      "was found may not be all. `eroica findings` shows what was found.");
  command->callback([flags, exit_code] { *exit_code = Run(*flags); });
}

}  // namespace eroica
