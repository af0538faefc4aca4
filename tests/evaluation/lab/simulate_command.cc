// eroica-lab simulate: a training job that never ran, into a recording, into Kafka, or as Chrome
// traces.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/flag_values.h"
#include "ops/cli/output_log.h"
#include "ops/cli/progress_bar.h"
#include "producers/core/edge_batch_sink.h"
#include "producers/core/log_batch_sink.h"
#include "producers/export/chrome_trace_writer.h"
#include "tests/evaluation/lab/commands.h"
#include "tests/evaluation/lab/shifted_batch_sink.h"
#include "tests/evaluation/score/scenario_file.h"
#include "tests/evaluation/score/scenario_text.h"
#include "tests/evaluation/simulate/host_clock.h"
#include "tests/evaluation/simulate/job_simulation.h"

namespace eroica {
namespace {

using Clock = std::chrono::steady_clock;

struct SimulateFlags {
  std::string scenario;
  std::string job;
  std::optional<uint64_t> seed;
  std::optional<uint32_t> steps;
  std::optional<int> level;
  ConfigFlags config;
  std::string output;
  std::string chrome;
  std::string pace = "full";
  bool append = false;
  bool json = false;
  bool print_reference = false;
};

struct Outcome {
  simulate::SimulatedJob job;
  simulate::SimulationReport report;
  uint64_t records = 0;  // of a log
  uint64_t bytes = 0;
  double seconds = 0;
};

absl::StatusOr<simulate::SimulatedJob> JobOf(const SimulateFlags& flags) {
  absl::StatusOr<Scenario> scenario = ReadScenario(flags.scenario);
  if (!scenario.ok()) return scenario.status();
  simulate::SimulatedJob job = std::move(scenario->job);
  if (!flags.job.empty()) job.job = flags.job;
  if (flags.seed) job.seed = *flags.seed;
  if (flags.steps) job.steps = *flags.steps;
  if (flags.level) job.telemetry.level = static_cast<CaptureLevel>(*flags.level);
  return job;
}

// Runs the job into the sink; keeps its pace and shows how far it is.
absl::Status Run(const SimulateFlags& flags, BatchSink& sink, Outcome* outcome) {
  const Clock::time_point start = Clock::now();
  ProgressBar bar(ProgressStream(), "simulating", start);
  const auto progress = [&](uint32_t steps_done, int64_t job_time_ns) {
    if (flags.pace == "real")
      std::this_thread::sleep_until(start + std::chrono::nanoseconds(job_time_ns));
    bar.Update(steps_done, outcome->job.steps, Clock::now());
    return absl::OkStatus();
  };
  absl::StatusOr<simulate::SimulationReport> report =
      simulate::Simulate(outcome->job, sink, progress);
  if (!report.ok()) return report.status();
  outcome->report = *std::move(report);
  outcome->seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return absl::OkStatus();
}

absl::Status RunIntoTraces(const SimulateFlags& flags, Outcome* outcome) {
  if (outcome->job.telemetry.level == CaptureLevel::kPatterns) {
    return absl::InvalidArgumentError(
        "capture level 1 are patterns, which no Chrome trace can hold: say --level 2");
  }
  if (!outcome->job.resizes.empty()) {
    return absl::InvalidArgumentError(
        "the job changes its size: a Chrome trace is of one process of a rank; write a recording "
        "instead");
  }
  const absl::StatusOr<std::unique_ptr<ChromeTraceWriter>> writer =
      ChromeTraceWriter::Open(flags.chrome);
  if (!writer.ok()) return writer.status();
  if (absl::Status status = Run(flags, **writer, outcome); !status.ok()) return status;
  return (*writer)->Finish();
}

// A sink of the log, by the capture level.
template <typename Sink>
absl::Status RunInto(const SimulateFlags& flags, Sink& sink, int64_t shift_ns, Outcome* outcome) {
  ShiftedBatchSink shifted(sink, shift_ns);
  BatchSink& entrance = shift_ns == 0 ? static_cast<BatchSink&>(sink) : shifted;
  if (absl::Status status = Run(flags, entrance, outcome); !status.ok()) return status;
  if (absl::Status status = sink.Finish(); !status.ok()) return status;
  outcome->records = sink.records();
  outcome->bytes = sink.bytes();
  return absl::OkStatus();
}

absl::Status RunIntoLog(const SimulateFlags& flags, Outcome* outcome) {
  absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return config.status();
  absl::StatusOr<OutputLog> output = OpenOutputLog(
      *std::move(config),
      {.command = "eroica-lab simulate", .folder = flags.output, .append = flags.append});
  if (!output.ok()) return output.status();
  const absl::StatusOr<std::unique_ptr<LogProducer>> producer = output->log->NewProducer();
  if (!producer.ok()) return producer.status();
  // What a broker keeps goes by its age: into Kafka the job happens now.
  const int64_t shift_ns = output->sink.timestamp_ms ? *output->sink.timestamp_ms * 1'000'000 -
                                                           simulate::HostClock::kEpochNs
                                                     : 0;
  if (outcome->job.telemetry.level == CaptureLevel::kPatterns) {
    EdgeBatchSink sink(producer->get(), output->sink);
    if (absl::Status status = RunInto(flags, sink, shift_ns, outcome); !status.ok()) return status;
  } else {
    LogBatchSink sink(producer->get(), output->sink);
    if (absl::Status status = RunInto(flags, sink, shift_ns, outcome); !status.ok()) return status;
  }
  return output->Finish();
}

absl::StatusOr<Outcome> SimulateJob(const SimulateFlags& flags) {
  if (flags.scenario.empty())
    return absl::InvalidArgumentError(
        "which scenario? Give a file such as tests/scenarios/dev/gpu_slow_dp_8r.toml");
  absl::StatusOr<simulate::SimulatedJob> job = JobOf(flags);
  if (!job.ok()) return job.status();
  Outcome outcome{.job = *std::move(job)};
  const absl::Status status =
      flags.chrome.empty() ? RunIntoLog(flags, &outcome) : RunIntoTraces(flags, &outcome);
  if (!status.ok()) return status;
  return outcome;
}

double MeanStepNs(const simulate::SimulationReport& report) {
  if (report.step_ns.empty()) return 0;
  double sum = 0;
  for (const int64_t step : report.step_ns) sum += static_cast<double>(step);
  return sum / static_cast<double>(report.step_ns.size());
}

double EventsPerSecond(const Outcome& outcome) {
  return outcome.seconds > 0 ? static_cast<double>(outcome.report.events) / outcome.seconds : 0;
}

std::string AsText(const Outcome& outcome) {
  const simulate::SimulationReport& report = outcome.report;
  std::string text = fmt::format(
      "{}: {} ranks, {} steps of {:.1f} ms, {} events in {:.1f} s ({:.2f} M/s)\n", outcome.job.job,
      outcome.job.layout.world_size(), report.steps, MeanStepNs(report) / 1e6, report.events,
      outcome.seconds, EventsPerSecond(outcome) / 1e6);
  if (outcome.records > 0)
    text += fmt::format("{} records, {:.1f} MB\n", outcome.records,
                        static_cast<double>(outcome.bytes) / 1e6);
  if (report.lost > 0)
    text += fmt::format("{} events were lost on the way, as the scenario wants it\n", report.lost);
  if (report.hangs) text += fmt::format("the job hangs in step {}\n", report.steps);
  return text;
}

std::string AsJson(const Outcome& outcome) {
  const simulate::SimulationReport& report = outcome.report;
  const nlohmann::ordered_json json{{"job", outcome.job.job},
                                    {"seed", outcome.job.seed},
                                    {"level", static_cast<int>(outcome.job.telemetry.level)},
                                    {"ranks", outcome.job.layout.world_size()},
                                    {"steps", report.steps},
                                    {"step_ns_mean", MeanStepNs(report)},
                                    {"hangs", report.hangs},
                                    {"events", report.events},
                                    {"lost", report.lost},
                                    {"records", outcome.records},
                                    {"bytes", outcome.bytes},
                                    {"seconds", outcome.seconds},
                                    {"events_per_second", EventsPerSecond(outcome)}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void AddFlags(CLI::App& command, SimulateFlags& flags) {
  command
      .add_option("SCENARIO", flags.scenario,
                  "TOML file; docs/reference/scenario.md lists the keys")
      ->type_name("");
  command.add_option("--job", flags.job, "Name of the job (default: that of the file)")
      ->type_name("NAME");
  command.add_option("--seed", flags.seed, "Instead of the scenario's first one")->type_name("N");
  command.add_option("--steps", flags.steps, "Training steps, instead of the scenario's")
      ->type_name("N")
      ->check(WholeNumber(1, 10'000'000));
  command
      .add_option("--level", flags.level,
                  "What is reported, instead of the scenario's: 0 marks and collectives, 1 "
                  "patterns, 2 every event")
      ->type_name("0|1|2")
      ->check(WholeNumber(0, kCaptureLevelCount - 1));
  auto* output = command
                     .add_option("-o,--output", flags.output,
                                 "Folder of the recording to write; made if it is not there")
                     ->type_name("DIR");
  command
      .add_option("--chrome", flags.chrome,
                  "Folder for Chrome traces, one a rank; made if it is not there")
      ->type_name("DIR")
      ->excludes(output);
  flags.config.AddTo(command);
  // A recording is where a node reads; here it would be where we write, as -o says it.
  command.get_option("--bootstrap")->excludes(output);
  command.get_option("--recording")->excludes(output)->group("");
  command
      .add_option("--pace", flags.pace,
                  "full: as fast as it goes; real: a step takes as long as it would")
      ->check(OneOf({"full", "real"}))
      ->capture_default_str();
  command.add_flag("--append", flags.append, "Add to a recording that holds events already");
  command.add_flag("--json", flags.json, "What was simulated, as one JSON object");
  command.add_flag("--print-scenario-reference", flags.print_reference,
                   "Print docs/reference/scenario.md, and nothing else");
}

}  // namespace

void AddSimulateCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App* command = app.add_subcommand("simulate", "Simulate a training job, with its faults");
  AddFlags(*command, *flags);
  command->footer(
      "Examples:\n"
      "  eroica-lab simulate tests/scenarios/dev/gpu_slow_dp_8r.toml -o recording/\n"
      "  eroica-lab simulate tests/scenarios/dev/gpu_slow_dp_8r.toml --chrome traces/ && eroica "
      "diagnose traces/\n"
      "  eroica-lab simulate job.toml --bootstrap localhost:9092 --level 1 --pace real\n\n"
      "Exit codes: 0 simulated, 2 error.");
  command->callback([flags, exit_code] {
    if (flags->print_reference) {
      std::cout << ScenarioReference();
      return;
    }
    const absl::StatusOr<Outcome> outcome = SimulateJob(*flags);
    if (!outcome.ok()) {
      *exit_code = ExitWithError(outcome.status());
      return;
    }
    std::cout << (flags->json ? AsJson(*outcome) : AsText(*outcome));
  });
}

}  // namespace eroica
