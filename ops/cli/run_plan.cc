#include "ops/cli/run_plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <utility>

#include "producers/core/producer_config.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

std::string NowText() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &local);
  return text;
}

// What the ranks will read; what is wrong in other variables is theirs to say.
absl::StatusOr<std::map<std::string, std::string>> KafkaPropertiesOfRanks(
    const GetVariable& environment) {
  const auto only_kafka = [&](const std::string& name) {
    return name == "EROICA_KAFKA" ? environment(name) : std::nullopt;
  };
  absl::StatusOr<ProducerConfig> config = ReadProducerConfig(only_kafka, {});
  if (!config.ok()) return config.status();
  return std::move(config->kafka_properties);
}

// What fits a job on one host: findings within seconds, a partition for each rank.
NodeConfig ConfigOf(const RunFlags& flags, const GetVariable& environment) {
  NodeConfig config;
  config.node.log_level = "err";
  // The ranks read the same variable.
  const std::string prefix = environment("EROICA_TOPIC_PREFIX").value_or("");
  if (!prefix.empty()) config.node.topic_prefix = prefix;
  config.kafka.bootstrap = flags.kafka;
  config.topics.events_partitions = flags.ranks + 1;  // the last is the watcher's own
  config.topics.collectives_partitions = 1;
  config.topics.patterns_partitions = 1;
  config.runtime.memory_mib = 512;
  config.summarize.out_of_orderness_ms = 1'000;
  // The node trains nobody: it wakes up seldom, and has the whole job at hand after a crash.
  config.runtime.poll_timeout_ms = 250;
  config.runtime.commit_interval_ms = 2'000;
  // Ranks send every half second, or as EROICA_SEND_MS says; a window that is closed before all of
  // it is there is cut.
  config.runtime.idle_timeout_ms = 10'000;
  return config;
}

// A flag before the variable that the user has set, and that before what is made up here. Two runs
// may start within a second, and over Kafka only the job's name tells them apart.
std::string JobName(const RunFlags& flags, const std::string& started,
                    const GetVariable& environment) {
  if (!flags.job.empty()) return flags.job;
  const std::string given = environment("EROICA_JOB").value_or("");
  if (!given.empty()) return given;
  const std::string program = std::filesystem::path(flags.command[0]).filename().string();
  return fmt::format("{}-{}-{}", program, started, ::getpid());
}

absl::Status ClaimRecording(const RunFlags& flags, const std::string& started, RunPlan& plan) {
  absl::StatusOr<RunRecording> claimed =
      RunRecording::Claim(flags.recording, fmt::format("eroica-{}", started));
  if (!claimed.ok()) return claimed.status();
  if (claimed->is_another()) {
    plan.remarks.push_back(
        fmt::format("{} holds an earlier recording, and two jobs in one would be mixed: this job "
                    "is recorded in {}",
                    flags.recording, claimed->path()));
  }
  plan.config.node.recording = claimed->path();
  plan.recording = *std::move(claimed);
  return plan.recording->Prepare(plan.config);
}

// The folder that the ranks share; empty where the user gave one, which they read themselves.
absl::StatusOr<std::string> ExchangeOf(const GetVariable& environment, RunPlan& plan) {
  if (!environment("EROICA_EXCHANGE").value_or("").empty()) return "";
  absl::StatusOr<std::unique_ptr<ExchangeFolder>> made = ExchangeFolder::Make();
  if (!made.ok()) return made.status();
  plan.exchange = *std::move(made);
  return plan.exchange->path();
}

std::string ExchangePath(const GetVariable& environment, const RunPlan& plan) {
  return plan.exchange != nullptr ? plan.exchange->path()
                                  : environment("EROICA_EXCHANGE").value_or("");
}

absl::Status PlanCapture(const RunFlags& flags, const GetVariable& environment, RunPlan& plan) {
  const absl::StatusOr<ProducerFiles> files = FindProducerFiles();
  if (!files.ok()) return files.status();
  const absl::StatusOr<std::string> exchange = ExchangeOf(environment, plan);
  if (!exchange.ok()) return exchange.status();
  const std::string started = NowText();
  if (flags.kafka.empty()) {
    if (absl::Status status = ClaimRecording(flags, started, plan); !status.ok()) return status;
  }
  const JobCapture capture{
      .recording = plan.config.node.recording,
      .bootstrap = flags.kafka,
      .job = JobName(flags, started, environment),
      .exchange = *exchange,
      .window_steps = flags.window_steps,
      .level = flags.level < 0 ? std::nullopt : std::optional<int>(flags.level)};
  plan.variables = VariablesFor(capture, *files, environment);
  plan.watch = LiveWatchOptions{.config = plan.config,
                                .kafka_properties = {},
                                .job = capture.job,
                                .exchange_folder = ExchangePath(environment, plan),
                                .run_node = flags.kafka.empty(),
                                .json = flags.json,
                                .page = flags.open};
  if (flags.kafka.empty()) return absl::OkStatus();
  absl::StatusOr<std::map<std::string, std::string>> properties =
      KafkaPropertiesOfRanks(environment);
  if (properties.ok()) {
    plan.watch->kafka_properties = *std::move(properties);
  } else {  // the ranks say the same of themselves
    plan.watch.reset();
    plan.remarks.push_back(
        fmt::format("no findings are shown: {}", std::string(properties.status().message())));
  }
  return absl::OkStatus();
}

}  // namespace

RunPlan PlanRun(const RunFlags& flags, const GetVariable& environment) {
  RunPlan plan{.variables = {},
               .config = ConfigOf(flags, environment),
               .recording = {},
               .exchange = nullptr,
               .watch = {},
               .remarks = {}};
  const absl::Status status = PlanCapture(flags, environment, plan);
  if (!status.ok()) {
    DiscardPlan(plan);
    plan.remarks.push_back(
        fmt::format("the job runs without Eroica: {}", std::string(status.message())));
  }
  return plan;
}

void DiscardPlan(RunPlan& plan) {
  if (plan.recording) plan.recording->Discard(plan.config);
  plan.recording.reset();
  plan.exchange.reset();
  plan.watch.reset();
  plan.variables = VariablesWithoutEroica();
}

std::map<std::string, std::string> VariablesWithoutEroica() { return {{"EROICA_DISABLE", "1"}}; }

}  // namespace eroica
