// eroica-lab real: real jobs with a known truth in, recorded in all the ways in which people do; a
// table of what the diagnosis said rightly and wrongly out.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/progress_bar.h"
#include "ops/cli/wrapped_text.h"
#include "tests/evaluation/lab/commands.h"
#include "tests/evaluation/real/real_json.h"
#include "tests/evaluation/real/real_tables.h"
#include "tests/evaluation/real/recording_sources.h"
#include "tests/evaluation/real/trace_sources.h"
#include "tests/evaluation/score/run_queue.h"
#include "tests/evaluation/score/scenario_file.h"

namespace eroica {
namespace {

constexpr char kRecordings[] = "tests/golden/live";
constexpr char kTraceScenarios[] = "tests/scenarios/traces";

struct RealFlags {
  std::vector<std::string> names;
  std::string recordings = kRecordings;
  std::string scenarios = kTraceScenarios;
  std::string traces;
  int jobs = 0;
  bool json = false;
  std::string markdown;
};

absl::StatusOr<std::vector<RealJobSource>> Sources(const RealFlags& flags) {
  std::vector<RealJobSource> sources;
  if (!flags.traces.empty()) {
    const absl::StatusOr<std::vector<std::string>> files = ListScenarioFiles(flags.scenarios);
    if (!files.ok()) return files.status();
    std::vector<Scenario> scenarios;
    for (const std::string& file : *files) {
      absl::StatusOr<Scenario> scenario = ReadScenario(file);
      if (!scenario.ok()) return scenario.status();
      scenarios.push_back(*std::move(scenario));
    }
    sources = TraceSources(scenarios, flags.traces);
  }
  absl::StatusOr<std::vector<RealJobSource>> recordings = RecordingSources(flags.recordings);
  if (!recordings.ok()) return recordings.status();
  for (RealJobSource& source : *recordings) sources.push_back(std::move(source));
  if (flags.names.empty()) return sources;
  for (const std::string& name : flags.names) {
    if (std::ranges::find(sources, name, &RealJobSource::name) == sources.end())
      return absl::NotFoundError(
          fmt::format("there is no real job {}{}", name,
                      flags.traces.empty() ? "; those of traces need --traces" : ""));
  }
  std::erase_if(sources, [&flags](const RealJobSource& source) {
    return std::ranges::find(flags.names, source.name) == flags.names.end();
  });
  return sources;
}

// A task a job; what it found goes to its place in `runs`.
std::vector<RunTask> Tasks(const std::vector<RealJobSource>& sources,
                           std::vector<std::vector<RealRun>>& runs) {
  constexpr uint32_t kSteps = 1'000;  // of progress
  std::vector<RunTask> tasks;
  for (size_t i = 0; i < sources.size(); ++i) {
    tasks.push_back({.name = sources[i].name,
                     .ranks = 1,
                     .steps = kSteps,
                     .run = [&source = sources[i], &place = runs[i]](
                                const auto& progress) -> absl::StatusOr<std::vector<ScoredRun>> {
                       const absl::StatusOr<RealJob> job = source.load();
                       if (!job.ok()) return job.status();
                       absl::StatusOr<std::vector<RealRun>> found =
                           RunVariations(*job, [&progress](size_t done, size_t total) {
                             return progress(static_cast<uint32_t>(done * kSteps / total));
                           });
                       if (!found.ok()) return found.status();
                       place = *std::move(found);
                       return std::vector<ScoredRun>{};
                     }});
  }
  return tasks;
}

absl::StatusOr<std::vector<RealRun>> RunAll(const std::vector<RealJobSource>& sources, int jobs) {
  RunQueueOptions options;
  options.threads =
      jobs > 0 ? jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::vector<RealRun>> by_job(sources.size());
  const std::vector<RunTask> tasks = Tasks(sources, by_job);
  ProgressBar bar(ProgressStream(), fmt::format("diagnosing {} real jobs", sources.size()),
                  std::chrono::steady_clock::now());
  const absl::StatusOr<std::vector<ScoredRun>> done =
      RunTasks(tasks, options, [&bar](uint64_t part, uint64_t total) {
        bar.Update(part, total, std::chrono::steady_clock::now());
      });
  if (!done.ok()) return done.status();
  std::vector<RealRun> runs;
  for (std::vector<RealRun>& of_job : by_job) {
    for (RealRun& run : of_job) runs.push_back(std::move(run));
  }
  return runs;
}

std::string AsText(const std::vector<RealRun>& runs) {
  std::string text;
  const auto add = [&text](const TextTable& table) {
    text += fmt::format("{}{}\n{}\n", text.empty() ? "" : "\n", table.title,
                        AlignedColumns(table.rows));
  };
  add(RealTable(runs));
  for (const TextTable& table : RealTotals(runs)) add(table);
  return text;
}

std::string CommandOf(const RealFlags& flags) {
  std::string command = "eroica-lab real";
  for (const std::string& name : flags.names) command += " " + name;
  return flags.traces.empty() ? command : command + " --traces " + flags.traces;
}

absl::StatusOr<int> RunRealJobs(const RealFlags& flags) {
  const absl::StatusOr<std::vector<RealJobSource>> sources = Sources(flags);
  if (!sources.ok()) return sources.status();
  const absl::StatusOr<std::vector<RealRun>> runs = RunAll(*sources, flags.jobs);
  if (!runs.ok()) return runs.status();
  if (!flags.markdown.empty()) {
    std::ofstream file(flags.markdown, std::ios::binary);
    file << RealMarkdown(*runs, CommandOf(flags));
    file.close();
    if (!file) return absl::UnavailableError(fmt::format("cannot write {}", flags.markdown));
  }
  std::cout << (flags.json ? RealJson(*runs) : AsText(*runs));
  const OutcomeCounts counts = CountOutcomes(*runs);
  const bool all_right = counts[static_cast<size_t>(RealOutcome::kRight)] == runs->size();
  return all_right ? kExitNothingFound : kExitFindings;
}

void AddOptions(CLI::App& command, RealFlags& flags) {
  command.add_option("JOB", flags.names, "Only these jobs (default: all)")->type_name("");
  command
      .add_option("--traces", flags.traces,
                  "Folder of real traces: the jobs of --scenarios, too (default: recordings alone)")
      ->type_name("FOLDER");
  command.add_option("--scenarios", flags.scenarios, "Folder of what is true of the traces")
      ->type_name("FOLDER")
      ->capture_default_str();
  command
      .add_option("--recordings", flags.recordings,
                  "Folder of recordings, with what is true of them in truth.json")
      ->type_name("FOLDER")
      ->capture_default_str();
  command.add_option("--jobs", flags.jobs, "Jobs at once (default: one a core)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--json", flags.json, "One JSON object: how every run ended, and what was said");
  command
      .add_option("--markdown", flags.markdown,
                  "Write the tables as a section of a page, too (`eroica-lab score --real`)")
      ->type_name("FILE");
}

}  // namespace

void AddRealCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<RealFlags>();
  CLI::App* command = app.add_subcommand(
      "real", "Diagnose real jobs as people record theirs: other windows, no stacks, few ranks");
  AddOptions(*command, *flags);
  command->footer(
      "Examples:\n"
      "  eroica-lab real                                      the recordings of this repository\n"
      "  eroica-lab real compute gc --json | jq .totals       two of them\n"
      "  eroica-lab real --traces ../shared/traces --markdown tests/evaluation/real/results.md\n\n"
      "Exit codes: 0 all right, 1 not all is, 2 error.");
  command->callback([flags, exit_code] {
    const absl::StatusOr<int> code = RunRealJobs(*flags);
    *exit_code = code.ok() ? *code : ExitWithError(code.status());
  });
}

}  // namespace eroica
