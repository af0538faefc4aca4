#include "ops/cli/import_into_log.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "ops/cli/flag_values.h"
#include "ops/cli/progress_bar.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

Json SkippedJson(const DropCounts& skipped) {
  Json object = Json::object();
  for (int reason = 0; reason < 64; ++reason) {
    const auto drop = static_cast<DropReason>(reason);
    if (skipped.of(drop) > 0) object[std::string(ToString(drop))] = skipped.of(drop);
  }
  return object;
}

Json CountsJson(const ImportCounts& counts) {
  return {{"events", counts.events},
          {"imported", counts.imported},
          {"skipped", SkippedJson(counts.skipped)},
          {"bytes", counts.file_bytes}};
}

}  // namespace

void TraceFlags::AddTo(CLI::App& command) {
  command
      .add_option("TRACE", paths,
                  "Files, or folders with one file a rank: PyTorch-profiler (Kineto) traces .json "
                  "or .json.gz, operation tables .csv")
      ->required()
      ->type_name("");
  command.add_option("--job", job, "Name of the job (default: that of the folder)")
      ->type_name("NAME");
  command
      .add_option("--window-steps", window_steps,
                  "Training steps compared at once (default: a fourth of the trace, 6 to 64)")
      ->type_name("STEPS")
      ->check(WholeNumber(1, 1'000'000));
}

absl::StatusOr<ImportReport> ImportIntoLog(const TraceFlags& flags, Log& log,
                                           const LogBatchSinkOptions& options) {
  absl::StatusOr<std::unique_ptr<LogProducer>> producer = log.NewProducer();
  if (!producer.ok()) return producer.status();
  LogBatchSink sink(producer->get(), options);
  const std::vector<std::filesystem::path> paths(flags.paths.begin(), flags.paths.end());
  ImportOptions import_options;
  import_options.job = JobId{flags.job};
  import_options.window_steps = flags.window_steps;

  ProgressBar bar(ProgressStream(), "importing", std::chrono::steady_clock::now());
  absl::StatusOr<ImportReport> report =
      ImportTraces(paths, import_options, sink, [&bar](uint64_t done, uint64_t total) {
        bar.Update(done, total, std::chrono::steady_clock::now());
      });
  bar.Clear();
  if (!report.ok()) return report.status();
  if (!report->total.closed()) {
    return absl::InternalError(
        fmt::format("the import's books do not close: {} events, {} imported, {} left out; please "
                    "report it with "
                    "the traces",
                    report->total.events, report->total.imported, report->total.skipped.total()));
  }
  if (absl::Status status = sink.Finish(); !status.ok()) return status;
  return report;
}

std::string ImportReportJson(const ImportReport& report) {
  Json files = Json::array();
  for (const FileReport& file : report.files) {
    Json object{{"name", file.path.filename().string()}, {"refused", file.refused}};
    if (file.rank >= 0) object["rank"] = file.rank;
    object.update(CountsJson(file.counts));
    object["warnings"] = file.warnings;
    files.push_back(std::move(object));
  }
  Json json{{"job", report.job.value}, {"world_size", report.world_size}, {"ranks", report.ranks}};
  json.update(CountsJson(report.total));
  json.update(Json{{"intervals", report.intervals},
                   {"marks", report.marks},
                   {"collectives", report.collectives},
                   {"collectives_unmatched", report.collectives_unmatched},
                   {"batches", report.batches},
                   {"files", std::move(files)},
                   {"warnings", report.warnings}});
  return PrintableJson(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace eroica
