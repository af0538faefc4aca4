// eroica replay: a part of a log through the stages once more; and the findings of two runs side by
// side.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/finding_comparison.h"
#include "ops/cli/finding_text.h"
#include "ops/cli/logging.h"
#include "ops/cli/lost_entries.h"
#include "ops/cli/open_log.h"
#include "ops/cli/progress_bar.h"
#include "ops/cli/replay_job.h"
#include "ops/cli/replay_verdict.h"
#include "ops/cli/slice_flags.h"
#include "ops/cli/slice_plan.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/time_text.h"
#include "ops/findings/finding_reader.h"
#include "schemas/finding_json.h"
#include "schemas/printable_text.h"
#include "stream_ops/recording/recording_log.h"
#include "stream_ops/replay/replay_run.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

struct ReplayFlags {
  ConfigFlags config;
  SliceFlags slice;
  std::string output;    // the replay's folder; empty: eroica-replay-ID
  std::string id;        // empty: made of the request
  std::string to_topic;  // findings also go there
  std::vector<std::string> compare;
  bool dry_run = false;
  bool json = false;
};

// What the flags ask for, and where it goes.
struct Asked {
  ReplayJob job;
  std::string folder;
};

// The findings of live nodes, and what they work on, are never mixed with those of a replay.
absl::Status CheckTargetTopic(const ReplayFlags& flags, const NodeConfig& config) {
  if (flags.to_topic.empty()) return absl::OkStatus();
  for (int i = 0; i < kTopicCount; ++i) {
    if (flags.to_topic != TopicName(config.node.topic_prefix, static_cast<Topic>(i))) continue;
    return absl::InvalidArgumentError(
        fmt::format("--to-topic {} is a topic of the live nodes: name one of the replay's own",
                    flags.to_topic));
  }
  if (!config.kafka.bootstrap.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--to-topic is a topic of the Kafka that is replayed, and this is a recording: its findings "
      "are in the replay's folder, and `eroica record --recording FOLDER --into HOST:PORT` copies "
      "them");
}

absl::StatusOr<Asked> Ask(const ReplayFlags& flags) {
  absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return config.status();
  const absl::StatusOr<SliceTimes> times = flags.slice.Times(NowMs());
  if (!times.ok()) return times.status();
  if (absl::Status status = CheckTargetTopic(flags, *config); !status.ok()) return status;
  const ReplayRequest what{.source = {},
                           .from_ms = times->from_ms,
                           .to_ms = times->to_ms,
                           .job = flags.slice.job(),
                           .config = {}};
  absl::StatusOr<ReplayJob> job = PrepareReplay(*std::move(config), what, flags.id);
  if (!job.ok()) return job.status();
  std::string folder = flags.output.empty() ? "eroica-replay-" + job->id : flags.output;
  return Asked{.job = *std::move(job), .folder = std::move(folder)};
}

absl::StatusOr<int> DryRun(const Asked& asked, bool json) {
  const absl::StatusOr<LogSlice> slice = TakeReplaySlice(asked.job);
  if (!slice.ok()) return slice.status();
  const absl::StatusOr<SlicePlan> plan = PlanSlice(*slice, asked.job.source.readers);
  if (!plan.ok()) return plan.status();
  if (json) {
    std::cout << PlanJson(*plan);
    return kExitNothingFound;
  }
  std::cout << PlanText(*plan)
            << fmt::format("timestamps: {}\nreplay {}, into {}\n",
                           asked.job.source.stamped_until_ms
                               ? "when records arrived; silence is replayed"
                               : "event times; every window waits for its records",
                           Printable(asked.job.id), Printable(asked.folder));
  return kExitNothingFound;
}

std::string Speed(const ReplayOutcome& outcome) {
  if (outcome.seconds <= 0 || outcome.span_ms <= 0) return "";
  return fmt::format(", {:.0f} times real time",
                     static_cast<double>(outcome.span_ms) / 1e3 / outcome.seconds);
}

std::string Warnings(const ReplayOutcome& outcome, const LostEntries& lost) {
  std::string text;
  for (const std::string& sentence : lost.sentences)
    text += fmt::format("warning: {}\n", Printable(sentence));
  if (outcome.records_missing > 0)
    text += fmt::format("warning: {} records had left the log by its retention\n",
                        outcome.records_missing);
  if (outcome.corrupt_bytes > 0)
    text += fmt::format("warning: {} bytes of the recording are damaged and were left out\n",
                        outcome.corrupt_bytes);
  if (outcome.records_unreadable > 0)
    text += fmt::format("warning: {} records could not be read and were left out (damaged)\n",
                        outcome.records_unreadable);
  for (const auto& [reason, count] : outcome.probe.dead_letters)
    text += fmt::format("warning: {} records were not used: {}\n", count, ToString(reason));
  return text;
}

// Of a replay without an open finding; count: those that are resolved.
std::string NoneIsOpenText(const ReplayVerdict& verdict, size_t count) {
  const std::string_view what = count > 0 ? "no finding is open" : "nothing was found";
  std::string text = !verdict.is_whole
                         ? fmt::format("cannot tell: {}, and not all of it was read\n", what)
                     : !verdict.none.is_healthy ? fmt::format("cannot tell: {}\n", what)
                     : count > 0                ? ""
                                                : "nothing found\n";
  text += Printable(verdict.none.text) + "\n";
  for (const std::string& reason : verdict.none.reasons) text += "- " + Printable(reason) + "\n";
  return text;
}

std::string OutcomeText(const ReplayFolder& folder, const ReplayOutcome& outcome,
                        const LostEntries& lost, const ReplayVerdict& verdict) {
  const size_t count = outcome.findings.size();
  std::string text = fmt::format("replay {}: ", Printable(folder.record().replay_id));
  text += outcome.records == 0 && !folder.is_new()
              ? "was finished already\n"
              : fmt::format("{} records, {:.1f} MB, {} of them, in {:.1f} s{}\n", outcome.records,
                            static_cast<double>(outcome.bytes) / 1e6, SpanText(outcome.span_ms),
                            outcome.seconds, Speed(outcome));
  text += Warnings(outcome, lost);
  if (count > 0)
    text += fmt::format("{} finding{}{}\n", count, count == 1 ? "" : "s",
                        verdict.any_open ? "" : ", resolved");
  for (const Finding& finding : outcome.findings) text += FindingLine(finding);
  if (!verdict.any_open) text += NoneIsOpenText(verdict, count);
  const std::string& prefix = folder.record().topic_prefix;
  return text +
         fmt::format("in full: eroica findings --recording {}{}\n", Printable(folder.path()),
                     prefix == kDefaultTopicPrefix ? "" : " --topic-prefix " + Printable(prefix));
}

std::string OutcomeJson(const ReplayFolder& folder, const ReplayOutcome& outcome,
                        const LostEntries& lost, const ReplayVerdict& verdict) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const Finding& finding : outcome.findings)
    findings.push_back(nlohmann::ordered_json::parse(ToJson(finding), nullptr, false));
  const nlohmann::ordered_json json{{"replay_id", folder.record().replay_id},
                                    {"folder", folder.path()},
                                    {"records", outcome.records},
                                    {"bytes", outcome.bytes},
                                    {"span_ms", outcome.span_ms},
                                    {"seconds", outcome.seconds},
                                    {"records_missing", outcome.records_missing},
                                    {"corrupt_bytes", outcome.corrupt_bytes},
                                    {"records_unreadable", outcome.records_unreadable},
                                    {"lost", lost.sentences},
                                    {"verdict", verdict.text()},
                                    {"nothing_because", verdict.none.text},
                                    {"left_open", verdict.none.reasons},
                                    {"findings", std::move(findings)}};
  return PrintableJson(
             json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) +
         "\n";
}

absl::StatusOr<ReplayOutcome> RunWithBar(const ReplayFolder& folder, const Asked& asked) {
  CatchStopSignals();
  ProgressBar bar(ProgressStream(), "replaying", std::chrono::steady_clock::now());
  return RunReplay(folder, asked.job.source, asked.job.config, [&bar](int64_t done, int64_t total) {
    bar.Update(static_cast<uint64_t>(done), static_cast<uint64_t>(total),
               std::chrono::steady_clock::now());
    return !StopRequested();
  });
}

absl::StatusOr<int> Replay(const ReplayFlags& flags) {
  const absl::StatusOr<Asked> asked = Ask(flags);
  if (!asked.ok()) return asked.status();
  if (flags.dry_run) return DryRun(*asked, flags.json);
  const absl::StatusOr<ReplayFolder> folder = OpenReplayFolder(asked->job, asked->folder);
  if (!folder.ok()) return folder.status();
  const absl::StatusOr<ReplayOutcome> outcome = RunWithBar(*folder, *asked);
  if (!outcome.ok()) return outcome.status();
  if (!flags.to_topic.empty()) {
    const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(asked->job.config, LogAccess::kWrite);
    if (!log.ok()) return log.status();
    const absl::StatusOr<uint64_t> published = PublishFindings(*folder, **log, flags.to_topic);
    if (!published.ok()) return published.status();
  }
  const absl::StatusOr<LostEntries> lost =
      FindLostEntries(*asked->job.source.log, asked->job.config, folder->record().slice);
  if (!lost.ok()) return lost.status();
  const absl::StatusOr<ReplayVerdict> verdict = JudgeReplay(*folder, *outcome, *lost);
  if (!verdict.ok()) return verdict.status();
  std::cout << (flags.json ? OutcomeJson(*folder, *outcome, *lost, *verdict)
                           : OutcomeText(*folder, *outcome, *lost, *verdict));
  return verdict->exit_code();
}

// name: the folder of a recording or of a replay; "live": the configured log's findings; or a topic
// of the configured Kafka.
absl::StatusOr<std::vector<Finding>> FindingsNamed(const std::string& name,
                                                   const NodeConfig& config) {
  constexpr std::string_view kTopicMark = "topic:";
  std::unique_ptr<Log> log;
  std::string topic = TopicName(config.node.topic_prefix, Topic::kFindings);
  if (name == "live" || name.starts_with(kTopicMark)) {
    absl::StatusOr<std::unique_ptr<Log>> live = OpenLog(config, LogAccess::kRead);
    if (!live.ok()) return live.status();
    log = *std::move(live);
    if (name != "live") topic = name.substr(kTopicMark.size());
  } else {
    absl::StatusOr<std::unique_ptr<RecordingLog>> folder =
        RecordingLog::Open({.directory = name, .read_only = true});
    if (!folder.ok()) return folder.status();
    log = *std::move(folder);
    const absl::StatusOr<std::optional<ReplayRecord>> replay = ReadReplayRecord(name);
    if (!replay.ok()) return replay.status();
    if (replay->has_value()) topic = TopicName((*replay)->topic_prefix, Topic::kFindings);
  }
  const absl::StatusOr<std::unique_ptr<FindingReader>> reader =
      FindingReader::OpenTopic(*log, topic);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<std::vector<Finding>> findings = ReadAllFindings(**reader);
  if (!findings.ok()) {
    return absl::Status(findings.status().code(),
                        fmt::format("{}: {}", name, std::string(findings.status().message())));
  }
  return LatestVersions(*std::move(findings));
}

absl::StatusOr<int> Compare(const ReplayFlags& flags) {
  const absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return config.status();
  std::vector<std::vector<Finding>> lists;
  for (const std::string& name : flags.compare) {
    absl::StatusOr<std::vector<Finding>> findings = FindingsNamed(name, *config);
    if (!findings.ok()) return findings.status();
    if (!flags.slice.job().empty()) {
      std::erase_if(*findings,
                    [&](const Finding& finding) { return finding.job.value != flags.slice.job(); });
    }
    lists.push_back(*std::move(findings));
  }
  const FindingComparison comparison = CompareFindings(lists[0], lists[1]);
  std::cout << (flags.json ? ComparisonJson(comparison)
                           : ComparisonText(comparison, flags.compare[0], flags.compare[1]));
  return comparison.equal() ? kExitNothingFound : kExitFindings;
}

void AddFlags(CLI::App& command, ReplayFlags& flags) {
  flags.config.AddTo(command);
  flags.slice.AddTo(command);
  command
      .add_option("-o,--output", flags.output,
                  "Folder of the replay: its findings and its state (default: eroica-replay-ID)")
      ->type_name("DIR");
  command
      .add_option("--id", flags.id,
                  "The replay's id, in all that it says (default: made of source, times, job and "
                  "configuration)")
      ->type_name("ID");
  command
      .add_option("--to-topic", flags.to_topic,
                  "Findings also go to this topic of the Kafka; made if it is not there")
      ->type_name("TOPIC");
  auto* dry_run = command.add_flag("--dry-run", flags.dry_run, "Say what would be read, and stop");
  command
      .add_option("--compare", flags.compare,
                  "The findings of two runs side by side: folders of replays or recordings, 'live' "
                  "(the configured log's), or topic:NAME")
      ->type_name("A B")
      ->expected(2)
      ->excludes(dry_run);
  command.add_flag("--json", flags.json, "One JSON object");
}

}  // namespace

void AddReplayCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<ReplayFlags>();
  CLI::App* command = app.add_subcommand(
      "replay", "Run the stages over a part of a log once more; compare what two runs found");
  AddFlags(*command, *flags);
  command->footer(
      "Examples:\n"
      "  eroica replay --bootstrap localhost:9092 --from 2026-11-24 --to 2026-11-25 --dry-run\n"
      "  eroica replay --bootstrap localhost:9092 --from 2026-11-24 --to 2026-11-25 --job night\n"
      "  eroica replay --recording incident/ -o as-it-was/\n"
      "  eroica replay --recording incident/ -o other/ --set summarize.fold_below=0.01\n"
      "  eroica replay --compare as-it-was/ other/\n"
      "  eroica replay --compare live as-it-was/ --bootstrap localhost:9092 --job night\n\n"
      "The live nodes, their groups and their findings are left alone. A replay that was stopped "
      "goes on with the same command. Times are those of the records: in Kafka, when they arrived. "
      "Exit codes: 0 no open finding, 1 open findings, 2 error, 3 cannot tell (none is open, and "
      "records had left the log, were damaged, or do not show the whole job), as `eroica "
      "findings`; "
      "--compare: 0 the same, 1 they differ, 2 error.");
  command->callback([flags, exit_code] {
    const absl::StatusOr<int> code = flags->compare.empty() ? Replay(*flags) : Compare(*flags);
    *exit_code = code.ok() ? *code : ExitWithError(code.status());
  });
}

}  // namespace eroica
