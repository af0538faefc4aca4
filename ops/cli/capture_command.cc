// eroica capture: asks the producers of a running job for more, for less, or to stop for good.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "ops/cli/commands.h"
#include "ops/cli/config_flags.h"
#include "ops/cli/exit_code.h"
#include "ops/cli/flag_values.h"
#include "ops/cli/open_log.h"
#include "ops/cli/time_text.h"
#include "producers/core/control_topic.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

struct CaptureFlags {
  ConfigFlags config;
  std::string job;
  std::string steps;
  int level = 2;
  bool off = false;
  int64_t expires_minutes = 60;
  bool json = false;
};

// "100..131", both included.
absl::Status ParseSteps(const std::string& text, Control* control) {
  const size_t dots = text.find("..");
  const auto parse = [](std::string_view part, int64_t* out) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), *out);
    return !part.empty() && error == std::errc() && end == part.data() + part.size() && *out >= 0;
  };
  const std::string_view all = text;
  if (dots == std::string::npos || !parse(all.substr(0, dots), &control->first_step) ||
      !parse(all.substr(dots + 2), &control->last_step) ||
      control->last_step < control->first_step) {
    return absl::InvalidArgumentError(
        fmt::format("--steps {}: must be FIRST..LAST, such as 100..131", text));
  }
  return absl::OkStatus();
}

// What was asked for, as it stands on the control topic.
std::string RequestJson(const Control& control) {
  const bool off = control.capture_level == CaptureLevel::kOff;
  using nlohmann::ordered_json;
  const ordered_json json{
      {"job", control.job.value},
      {"off", off},
      {"first_step", off ? ordered_json(nullptr) : ordered_json(control.first_step)},
      {"last_step", off ? ordered_json(nullptr) : ordered_json(control.last_step)},
      {"level",
       off ? ordered_json(nullptr) : ordered_json(static_cast<int>(control.capture_level))},
      {"expires_at", TimeText(control.expires_at_ns / 1'000'000)}};
  return PrintableJson(json.dump(-1, ' ', false, ordered_json::error_handler_t::replace)) + "\n";
}

absl::Status Request(const CaptureFlags& flags) {
  const absl::StatusOr<NodeConfig> config = flags.config.Load();
  if (!config.ok()) return config.status();
  const auto now = std::chrono::system_clock::now() + std::chrono::minutes(flags.expires_minutes);
  Control control{
      .job = JobId{flags.job},
      .capture_level = flags.off ? CaptureLevel::kOff : static_cast<CaptureLevel>(flags.level),
      .requester = "eroica capture",
      .expires_at_ns =
          std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count()};
  if (!flags.off) {
    if (absl::Status status = ParseSteps(flags.steps, &control); !status.ok()) return status;
  }
  const absl::StatusOr<std::unique_ptr<Log>> log = OpenLog(*config, LogAccess::kWrite);
  if (!log.ok()) return log.status();
  const absl::Status written = WriteControl(**log, config->node.topic_prefix, control);
  if (written.ok() && flags.json) std::cout << RequestJson(control);
  return written;
}

}  // namespace

void AddCaptureCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<CaptureFlags>();
  CLI::App* command = app.add_subcommand(
      "capture", "Ask a running job for a capture window, or switch its producers off");
  flags->config.AddTo(*command);
  command->add_option("--job", flags->job, "The job")->type_name("JOB")->required();
  auto* steps = command
                    ->add_option("--steps", flags->steps,
                                 "Training steps, both included; the same on all ranks")
                    ->type_name("FIRST..LAST");
  command
      ->add_option("--level", flags->level,
                   "0 marks and collectives, 1 patterns, 2 everything and Python in full")
      ->check(WholeNumber(0, 2))
      ->capture_default_str();
  auto* off = command
                  ->add_flag("--off", flags->off,
                             "The producers of the job stop for good; training goes on")
                  ->excludes(steps);
  command
      ->add_option("--expires", flags->expires_minutes,
                   "Minutes until a request that nobody has heard is void")
      ->check(WholeNumber(1, 7 * 24 * 60))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "What was asked for, as one JSON object");
  command->footer(
      "Examples:\n"
      "  eroica capture --recording night/ --job night --steps 1000..1031\n"
      "  eroica capture --bootstrap broker:9092 --job night --off\n\n"
      "Exit codes: 0 asked, 2 error. Ranks that are slow or blocked ask by themselves.");
  command->callback([flags, steps, off, exit_code] {
    const absl::Status status =
        steps->count() + off->count() > 0
            ? Request(*flags)
            : absl::InvalidArgumentError("say which steps (--steps FIRST..LAST), or --off");
    *exit_code = status.ok() ? kExitNothingFound : ExitWithError(status);
  });
}

}  // namespace eroica
