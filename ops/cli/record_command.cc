// eroica record: a part of a log into a folder or into topics, and what such a folder is held
// against.
#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "ops/archive/recorder.h"
#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/log_source.h"
#include "ops/cli/lost_entries.h"
#include "ops/cli/open_log.h"
#include "ops/cli/progress_bar.h"
#include "ops/cli/slice_flags.h"
#include "ops/cli/slice_plan.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/time_text.h"
#include "ops/cli/wrapped_text.h"
#include "schemas/printable_text.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

struct RecordFlags {
  ConfigFlags config;
  SliceFlags slice;
  std::string output;       // a folder
  std::string into;         // brokers
  std::string into_prefix;  // of the topics there; empty: that of the source
  std::string verify;       // a folder
  bool dry_run = false;
  bool json = false;
};

std::vector<std::string> AllTopics(const std::string& prefix) {
  std::vector<std::string> topics;
  for (int i = 0; i < kTopicCount; ++i) topics.push_back(TopicName(prefix, static_cast<Topic>(i)));
  return topics;
}

// Until somebody says stop.
std::function<bool(int64_t done, int64_t total)> Progress(ProgressBar& bar) {
  return [&bar](int64_t done, int64_t total) {
    bar.Update(static_cast<uint64_t>(done), static_cast<uint64_t>(total),
               std::chrono::steady_clock::now());
    return !StopRequested();
  };
}

std::string ManifestText(const Manifest& manifest) {
  uint64_t records = 0;
  uint64_t bytes = 0;
  for (const auto& [name, topic] : manifest.topics) {
    for (const auto& [number, partition] : topic.by_partition) {
      records += partition.records;
      bytes += partition.bytes;
    }
  }
  std::string text = fmt::format("{} records, {:.1f} MB, of {} job{}, from {}\n", records,
                                 static_cast<double>(bytes) / 1e6, manifest.jobs.size(),
                                 manifest.jobs.size() == 1 ? "" : "s", Printable(manifest.source));
  if (manifest.jobs.empty()) return text;
  std::vector<std::vector<std::string>> rows = {{"job", "ranks", "records", "first", "last"}};
  for (const auto& [name, job] : manifest.jobs) {
    rows.push_back({Printable(name), fmt::format("{}", job.ranks), fmt::format("{}", job.records),
                    TimeText(job.first_ms), TimeText(job.last_ms)});
  }
  return text + AlignedColumns(rows) + "\n";
}

void Print(const Manifest& manifest, const RecordFlags& flags, std::string_view headline) {
  if (flags.json) {
    std::cout << PrintableJson(ToJson(manifest));
  } else {
    std::cout << headline << ManifestText(manifest);
  }
}

// What the source had lost, the copy has not.
void WarnOfLost(const Manifest& manifest) {
  for (const std::string& sentence : manifest.lost)
    std::cerr << fmt::format("eroica: warning: {}\n", Printable(sentence));
}

absl::StatusOr<Manifest> IntoTopics(const RecordFlags& flags, NodeConfig config,
                                    const LogSource& source, RecordRequest request) {
  const std::string prefix = config.node.topic_prefix;
  const std::string target_prefix = flags.into_prefix.empty() ? prefix : flags.into_prefix;
  if (config.kafka.bootstrap == flags.into && target_prefix == prefix) {
    return absl::InvalidArgumentError(
        "--into names the topics that are read: give another --into-prefix");
  }
  config.node.recording.clear();
  config.kafka.bootstrap = flags.into;
  const absl::StatusOr<std::unique_ptr<Log>> target = OpenLog(std::move(config), LogAccess::kWrite);
  if (!target.ok()) return target.status();
  const auto target_of = [&](const std::string& topic) {
    return target_prefix + topic.substr(prefix.size());
  };
  return RecordIntoTopics(*source.log, source.readers, std::move(request), **target, target_of);
}

absl::StatusOr<int> Record(const RecordFlags& flags) {
  if (flags.output.empty() == flags.into.empty() && !flags.dry_run) {
    return absl::InvalidArgumentError(
        "where to? Give -o DIR for a recording, or --into HOST:PORT for topics");
  }
  const absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return config.status();
  const absl::StatusOr<SliceTimes> times = flags.slice.Times(NowMs());
  if (!times.ok()) return times.status();
  const absl::StatusOr<LogSource> source = OpenLogSource(*config);
  if (!source.ok()) return source.status();
  const absl::StatusOr<LogSlice> slice =
      TakeSlice(*source->log, {.topics = AllTopics(config->node.topic_prefix),
                               .from_ms = times->from_ms,
                               .to_ms = times->to_ms});
  if (!slice.ok()) return slice.status();
  if (flags.dry_run) {
    const absl::StatusOr<SlicePlan> plan = PlanSlice(*slice, source->readers);
    if (!plan.ok()) return plan.status();
    std::cout << (flags.json ? PlanJson(*plan) : PlanText(*plan));
    return kExitNothingFound;
  }
  const absl::StatusOr<LostEntries> lost = FindLostEntries(*source->log, *config, *slice);
  if (!lost.ok()) return lost.status();
  CatchStopSignals();
  ProgressBar bar(ProgressStream(), "recording", std::chrono::steady_clock::now());
  RecordRequest request{.slice = *slice,
                        .manifest = {.eroica_version = EROICA_VERSION,
                                     .created_ms = NowMs(),
                                     .source = source->name,
                                     .job = flags.slice.job(),
                                     .from_ms = times->from_ms,
                                     .to_ms = times->to_ms,
                                     .stamped_at_arrival = source->stamped_until_ms.has_value(),
                                     .lost = lost->sentences},
                        .lost_bytes = lost->bytes};
  request.progress = [report = Progress(bar), total = slice->size()](int64_t done) {
    return report(done, total);
  };
  const absl::StatusOr<Manifest> manifest =
      flags.into.empty()
          ? RecordIntoFolder(*source->log, source->readers, std::move(request), flags.output)
          : IntoTopics(flags, *config, *source, std::move(request));
  bar.Clear();
  if (!manifest.ok()) return manifest.status();
  Print(*manifest, flags, "recorded ");
  WarnOfLost(*manifest);
  return lost->any() ? kExitCannotTell : kExitNothingFound;
}

absl::StatusOr<int> Verify(const RecordFlags& flags) {
  CatchStopSignals();
  ProgressBar bar(ProgressStream(), "verifying", std::chrono::steady_clock::now());
  const absl::StatusOr<Manifest> manifest = VerifyRecording(flags.verify, Progress(bar));
  bar.Clear();
  if (!manifest.ok()) return manifest.status();
  Print(*manifest, flags, "as recorded: ");
  WarnOfLost(*manifest);
  return manifest->lost.empty() ? kExitNothingFound : kExitCannotTell;
}

void AddFlags(CLI::App& command, RecordFlags& flags) {
  flags.config.AddTo(command);
  flags.slice.AddTo(command);
  auto* output = command
                     .add_option("-o,--output", flags.output,
                                 "Folder of the recording; made if it is not there")
                     ->type_name("DIR");
  command.add_option("--into", flags.into, "Into the topics of this Kafka, partition by partition")
      ->type_name("HOST:PORT,...")
      ->excludes(output);
  command
      .add_option("--into-prefix", flags.into_prefix,
                  "The topics there are called PREFIX.events and so on (default: as here)")
      ->type_name("PREFIX");
  command
      .add_option("--verify", flags.verify,
                  "Read a recording that was made so, and compare it with its manifest")
      ->type_name("DIR")
      ->excludes(output);
  command.add_flag("--dry-run", flags.dry_run, "Say what would be copied, and stop");
  command.add_flag("--json", flags.json, "The manifest, or the plan, as one JSON object");
}

}  // namespace

void AddRecordCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<RecordFlags>();
  CLI::App* command = app.add_subcommand(
      "record", "Copy topics into a recording, or a recording into topics; bytes untouched");
  AddFlags(*command, *flags);
  command->footer(
      "Examples:\n"
      "  eroica record --bootstrap localhost:9092 --job night --from 3h -o incident/\n"
      "  eroica record --verify incident/\n"
      "  eroica record --recording incident/ --into localhost:9092 --into-prefix incident\n"
      "  eroica record --recording incident/ --job night --dry-run\n\n"
      "A recording has a manifest (manifest.json): jobs, ranks, times, versions, checksums. A copy "
      "that was stopped is begun anew by the same command. Times are those of the records: in "
      "Kafka, when they arrived. Exit codes: 0 recorded, or as recorded; 2 error, or not as "
      "recorded; 3 recorded, or as recorded, and the source had lost records.");
  command->callback([flags, exit_code] {
    const absl::StatusOr<int> code = flags->verify.empty() ? Record(*flags) : Verify(*flags);
    *exit_code = code.ok() ? *code : ExitWithError(code.status());
  });
}

}  // namespace eroica
