// eroica import: traces into a recording, or into Kafka.
#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <memory>

#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/import_into_log.h"
#include "ops/cli/open_log.h"
#include "ops/cli/topic_plan.h"

namespace eroica {
namespace {

struct ImportFlags {
  TraceFlags traces;
  ConfigFlags config;
  std::string output;
  bool append = false;
  bool json = false;
};

absl::StatusOr<int64_t> RecordsIn(Log& log, const TopicSpec& topic) {
  const absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log.NewConsumer(ConsumerOptions());
  if (!consumer.ok()) return consumer.status();
  int64_t records = 0;
  for (int32_t partition = 0; partition < topic.partitions; ++partition) {
    const absl::StatusOr<int64_t> end = (*consumer)->EndOffset({topic.name, partition});
    if (!end.ok()) return end.status();
    records += *end;
  }
  return records;
}

// The topics of a recording come into being with it; those of a Kafka are for its operator to make.
absl::Status PrepareRecording(Log& log, const NodeConfig& config, bool append) {
  const std::string events = TopicName(config.node.topic_prefix, Topic::kEvents);
  if (absl::Status status = CreateMissingTopics(log.admin(), config.node.topic_prefix, LayoutOf(config)); !status.ok()) return status;
  const absl::StatusOr<TopicSpec> topic = log.admin().DescribeTopic(events);
  if (!topic.ok()) return topic.status();
  const absl::StatusOr<int64_t> records = RecordsIn(log, *topic);
  if (!records.ok()) return records.status();
  if (*records > 0 && !append) {
    return absl::AlreadyExistsError(fmt::format(
        "{} holds {} records of events already: name another folder, or say --append to add to them", config.node.recording, *records));
  }
  return absl::OkStatus();
}

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

absl::StatusOr<ImportReport> Import(const ImportFlags& flags) {
  absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return config.status();
  if (!flags.output.empty()) {
    config->node.recording = flags.output;
    config->kafka.bootstrap.clear();
  }
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(*config, LogAccess::kWrite);
  if (!log.ok()) return log.status();
  LogBatchSinkOptions sink{.topic_prefix = config->node.topic_prefix, .replay_id = config->node.replay_id, .timestamp_ms = std::nullopt};
  if (config->node.recording.empty()) {
    sink.timestamp_ms = NowMs();
  } else if (absl::Status status = PrepareRecording(**log, *config, flags.append); !status.ok()) {
    return status;
  }
  return ImportIntoLog(flags.traces, **log, sink);
}

}  // namespace

void AddImportCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* command = app.add_subcommand("import", "Turn traces into a recording, or send them to Kafka");
  flags->traces.AddTo(*command);
  command->add_option("-o,--output", flags->output, "Folder of the recording; made if it is not there")->type_name("DIR");
  flags->config.AddTo(*command);
  command->add_flag("--append", flags->append, "Add to a recording that holds events already");
  command->add_flag("--json", flags->json, "What was imported and skipped, as one JSON object");
  command->footer(
      "Examples:\n"
      "  eroica import traces/ -o recording/\n"
      "  eroica import rank0.json.gz rank1.json.gz --job nightly --bootstrap localhost:9092\n\n"
      "Exit codes: 0 imported, 2 nothing could be imported, or an error.");
  command->callback([flags, exit_code] {
    const absl::StatusOr<ImportReport> report = Import(*flags);
    if (!report.ok()) {
      *exit_code = ExitWithError(report.status());
      return;
    }
    std::cout << (flags->json ? ImportReportJson(*report) + "\n" : report->ToText());
  });
}

}  // namespace eroica
