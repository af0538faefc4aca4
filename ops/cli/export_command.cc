// eroica export: a window of a job, or that of a finding, as a trace for Perfetto.
#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "diagnosis/report/duration_text.h"
#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/flag_values.h"
#include "ops/cli/log_source.h"
#include "ops/cli/progress_bar.h"
#include "ops/cli/slice_flags.h"
#include "ops/cli/stop_signal.h"
#include "ops/cli/terminal.h"
#include "ops/cli/time_text.h"
#include "ops/cli/trace_export.h"
#include "ops/cli/wrapped_text.h"
#include "ops/findings/finding_reader.h"
#include "schemas/printable_text.h"
#include "schemas/time_unit.h"
#include "schemas/window_name.h"
#include "stream_ops/topics.h"

namespace eroica {
namespace {

constexpr int64_t kIntervalsMost = 50'000'000;

struct ExportFlags {
  ConfigFlags config;
  SliceFlags slice;
  std::string file;
  std::string finding;  // its id, or how it begins
  std::string window;
  std::string ranks;
  int64_t intervals_max = 1'000'000;
  bool json = false;
};

absl::StatusOr<Finding> FindFinding(Log& log, const std::string& topic_prefix,
                                    const std::string& id) {
  const absl::StatusOr<std::unique_ptr<FindingReader>> reader =
      FindingReader::Open(log, topic_prefix);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<std::vector<Finding>> findings = ReadAllFindings(**reader);
  if (!findings.ok()) return findings.status();
  std::optional<Finding> found;
  for (Finding& finding : LatestVersions(*std::move(findings))) {
    if (!finding.id.starts_with(id)) continue;
    if (found)
      return absl::InvalidArgumentError(fmt::format(
          "--finding {}: several begin so, {} and {}: give more of it", id, found->id, finding.id));
    found = std::move(finding);
  }
  if (found) return *std::move(found);
  return absl::NotFoundError(
      fmt::format("--finding {}: there is none; `eroica findings` lists them", id));
}

absl::Status NameWindow(const ExportFlags& flags, ExportRequest* request) {
  if (!flags.window.empty()) {
    const std::optional<NamedWindow> named = ParseWindowName(flags.window);
    if (!named)
      return absl::InvalidArgumentError(
          fmt::format("--window {}: give one such as steps-3 or time-12", flags.window));
    request->window = WantedWindow{.kind = named->kind, .index = named->index};
  } else if (request->finding) {
    // That its evidence is of.
    request->window = WantedWindow{.kind = std::nullopt, .index = request->finding->last_window};
  }
  return absl::OkStatus();
}

absl::Status NameJob(const ExportFlags& flags, ExportRequest* request) {
  request->job = flags.slice.job();
  if (!request->finding) return absl::OkStatus();
  const std::string& of_finding = request->finding->job.value;
  if (!request->job.empty() && request->job != of_finding)
    return absl::InvalidArgumentError(fmt::format("--finding {} is of job {}, not of {}",
                                                  flags.finding, of_finding, request->job));
  request->job = of_finding;
  return absl::OkStatus();
}

absl::StatusOr<ExportRequest> MakeRequest(const ExportFlags& flags, const NodeConfig& config,
                                          const LogSource& source) {
  ExportRequest request{.events = {},
                        .job = {},
                        .ranks = {},
                        .window = std::nullopt,
                        .time_window_ns = config.summarize.window_ms * kNsPerMs,
                        .finding = std::nullopt,
                        .intervals_max = static_cast<uint64_t>(flags.intervals_max),
                        .file = flags.file,
                        .progress = {}};
  if (!flags.ranks.empty()) {
    absl::StatusOr<RankSet> ranks = RankSet::Parse(flags.ranks);
    if (!ranks.ok())
      return absl::InvalidArgumentError(
          fmt::format("--ranks: {}", std::string(ranks.status().message())));
    request.ranks = *std::move(ranks);
  }
  if (!flags.finding.empty()) {
    absl::StatusOr<Finding> finding =
        FindFinding(*source.log, config.node.topic_prefix, flags.finding);
    if (!finding.ok()) return finding.status();
    request.finding = *std::move(finding);
  }
  if (absl::Status status = NameWindow(flags, &request); !status.ok()) return status;
  if (absl::Status status = NameJob(flags, &request); !status.ok()) return status;
  const absl::StatusOr<SliceTimes> times = flags.slice.Times(NowMs());
  if (!times.ok()) return times.status();
  absl::StatusOr<LogSlice> events =
      TakeSlice(*source.log, {.topics = {TopicName(config.node.topic_prefix, Topic::kEvents)},
                              .from_ms = times->from_ms,
                              .to_ms = times->to_ms});
  if (!events.ok()) return events.status();
  request.events = *std::move(events);
  return request;
}

std::string OutcomeText(const ExportRequest& request, const ExportOutcome& outcome) {
  const size_t ranks = outcome.ranks.size();
  return fmt::format(
      "{}: job {}, {}, {} rank{}, {} events, {}. Open it at https://ui.perfetto.dev or in "
      "chrome://tracing.\n",
      Printable(request.file), Printable(outcome.job),
      request.window ? "window " + ToString(*request.window) : std::string("all windows"), ranks,
      ranks == 1 ? "" : "s", outcome.intervals, BytesText(static_cast<double>(outcome.bytes)));
}

std::string OutcomeJson(const ExportRequest& request, const ExportOutcome& outcome) {
  using nlohmann::ordered_json;
  const ordered_json json{
      {"file", request.file},
      {"job", outcome.job},
      {"window", request.window ? ordered_json(ToString(*request.window)) : ordered_json(nullptr)},
      {"finding", request.finding ? ordered_json(request.finding->id) : ordered_json(nullptr)},
      {"ranks", outcome.ranks},
      {"events", outcome.intervals},
      {"events_left_out", outcome.left_out},
      {"malformed", outcome.malformed},
      {"bytes", outcome.bytes}};
  return PrintableJson(json.dump(-1, ' ', false, ordered_json::error_handler_t::replace)) + "\n";
}

void Warn(const std::string& text) {
  std::cerr << Wrapped("eroica: warning: " + text, ErrorWidth(), 0) << "\n";
}

absl::Status Export(const ExportFlags& flags) {
  const absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return config.status();
  const absl::StatusOr<LogSource> source = OpenLogSource(*config);
  if (!source.ok()) return source.status();
  absl::StatusOr<ExportRequest> request = MakeRequest(flags, *config, *source);
  if (!request.ok()) return request.status();
  CatchStopSignals();
  ProgressBar bar(ProgressStream(), "exporting", std::chrono::steady_clock::now());
  request->progress = [&bar](int64_t done, int64_t total) {
    bar.Update(static_cast<uint64_t>(done), static_cast<uint64_t>(total),
               std::chrono::steady_clock::now());
    return !StopRequested();
  };
  const absl::StatusOr<ExportOutcome> outcome = ExportTrace(*request, source->readers);
  bar.Clear();
  if (!outcome.ok()) return outcome.status();
  if (outcome->left_out > 0)
    Warn(
        fmt::format("{} events are left out: {} is all that --events lets in, shared out equally "
                    "among {} ranks. Give fewer --ranks, or more --events.",
                    outcome->left_out, flags.intervals_max, outcome->ranks.size()));
  if (outcome->malformed > 0)
    Warn(fmt::format("{} records are no events and were skipped.", outcome->malformed));
  if (flags.json) {
    std::cout << OutcomeJson(*request, *outcome);
  } else if (!IsQuiet()) {
    std::cout << WrappedLines(OutcomeText(*request, *outcome), OutputWidth(), 2);
  }
  return absl::OkStatus();
}

void AddFlags(CLI::App& command, ExportFlags& flags) {
  flags.config.AddTo(command);
  flags.slice.AddTo(command);
  command
      .add_option("-o,--output", flags.file,
                  "The trace; compressed where its name ends in .gz. A file that is there is left "
                  "as it is")
      ->type_name("FILE")
      ->required();
  command
      .add_option("--finding", flags.finding,
                  "Of this finding: its job, the window that its evidence is of, and a mark on the "
                  "ranks that it names. The begin of its id will do")
      ->type_name("ID");
  command
      .add_option("--window", flags.window,
                  "steps-3 or time-12, as `eroica jobs` calls them (default: that of --finding, "
                  "else all)")
      ->type_name("WINDOW");
  command.add_option("--ranks", flags.ranks, "Only these, such as 0-3,7")->type_name("RANKS");
  command
      .add_option("--events", flags.intervals_max,
                  "At most so many events, shared out equally among the ranks")
      ->type_name("N")
      ->check(WholeNumber(1, kIntervalsMost))
      ->capture_default_str();
  command.add_flag("--json", flags.json, "What was exported, as one JSON object");
}

}  // namespace

void AddExportCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* command =
      app.add_subcommand("export", "A window of a job, or a finding's, as a trace for Perfetto");
  AddFlags(*command, *flags);
  command->footer(
      "Examples:\n"
      "  eroica export --recording recording/ --finding 1a2b3c -o finding.json.gz\n"
      "  eroica export --recording recording/ --window steps-3 --ranks 0-3,7 -o window.json.gz\n"
      "  eroica export --bootstrap localhost:9092 --job night --from 2h --window steps-120 -o "
      "night.json\n\n"
      "One process a rank, one track a thread or stream, steps and findings on tracks of their "
      "own. Times are those of each rank's own clock. What began before the window is cut at its "
      "begin. A trace of one rank can be imported again. Exit codes: 0 exported, 2 error, or "
      "nothing is there to export.");
  command->callback([flags, exit_code] {
    const absl::Status status = Export(*flags);
    *exit_code = status.ok() ? kExitNothingFound : ExitWithError(status);
  });
}

}  // namespace eroica
