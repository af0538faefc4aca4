// eroica-lab score: scenarios with a known truth in, a table of how right the diagnosis is out.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "ops/cli/exit_code.h"
#include "ops/cli/progress_bar.h"
#include "ops/cli/wrapped_text.h"
#include "ops/config/text_file.h"
#include "tests/evaluation/lab/commands.h"
#include "tests/evaluation/score/accuracy_page.h"
#include "tests/evaluation/score/known_misses.h"
#include "tests/evaluation/score/run_queue.h"
#include "tests/evaluation/score/scenario_file.h"
#include "tests/evaluation/score/scenario_run.h"
#include "tests/evaluation/score/score_charts.h"
#include "tests/evaluation/score/score_json.h"
#include "tests/evaluation/score/score_tables.h"
#include "tests/evaluation/score/trace_run.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr char kScenarios[] = "tests/scenarios/dev";
constexpr char kScoredTraces[] = "tests/scenarios/traces";
constexpr size_t kColumns = 100;  // of running text

struct ScoreFlags {
  std::vector<std::string> paths;
  uint32_t seeds = 0;
  int jobs = 0;
  std::string family;
  uint32_t max_ranks = 0;
  std::vector<std::string> methods;
  bool json = false;
  std::string markdown;
  std::string live;
  std::vector<std::string> real;
  std::string svg;
  std::string traces;
  std::string known;
};

// The listed seeds first, then on from the largest.
std::vector<uint64_t> Seeds(const Scenario& scenario, uint32_t count) {
  std::vector<uint64_t> seeds = scenario.seeds;
  if (count == 0) return seeds;
  uint64_t largest = 0;
  for (const uint64_t seed : seeds) largest = std::max(largest, seed);
  while (seeds.size() < count) seeds.push_back(++largest);
  seeds.resize(count);
  return seeds;
}

absl::StatusOr<std::vector<Scenario>> ReadScenarios(const ScoreFlags& flags) {
  std::vector<std::string> paths = flags.paths;
  if (paths.empty()) paths.emplace_back(flags.traces.empty() ? kScenarios : kScoredTraces);
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    const absl::StatusOr<std::vector<std::string>> listed = ListScenarioFiles(path);
    if (!listed.ok()) return listed.status();
    files.insert(files.end(), listed->begin(), listed->end());
  }
  std::vector<Scenario> scenarios;
  for (const std::string& file : files) {
    absl::StatusOr<Scenario> scenario = ReadScenario(file);
    if (!scenario.ok()) return scenario.status();
    if (!flags.family.empty() && scenario->family != flags.family) continue;
    if (flags.max_ranks > 0 && scenario->job.layout.world_size() > flags.max_ranks) continue;
    scenarios.push_back(*std::move(scenario));
  }
  return scenarios;
}

std::vector<RunTask> Tasks(const std::vector<Scenario>& scenarios, const ScoreFlags& flags,
                           const std::vector<Method>& methods) {
  std::vector<RunTask> tasks;
  for (const Scenario& scenario : scenarios) {
    const uint32_t ranks = scenario.job.layout.world_size();
    if (!scenario.traces.empty()) {
      if (flags.traces.empty()) continue;
      tasks.push_back({.name = scenario.name,
                       .ranks = ranks,
                       .steps = 1,
                       .run = [&scenario, &flags, &methods](const auto&) {
                         return RunTrace(scenario, flags.traces, methods);
                       }});
      continue;
    }
    for (const uint64_t seed : Seeds(scenario, flags.seeds)) {
      tasks.push_back({.name = fmt::format("{}, seed {}", scenario.name, seed),
                       .ranks = ranks,
                       .steps = StepsOf(scenario),
                       .run = [&scenario, seed, &methods](const RunProgress& progress) {
                         return RunScenario(scenario, seed, methods, progress);
                       }});
    }
  }
  return tasks;
}

absl::StatusOr<std::vector<ScoredRun>> RunAll(const std::vector<RunTask>& tasks, int jobs) {
  RunQueueOptions options;
  options.threads =
      jobs > 0 ? jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  ProgressBar bar(ProgressStream(), fmt::format("scoring {} runs", tasks.size()),
                  std::chrono::steady_clock::now());
  return RunTasks(tasks, options, [&bar](uint64_t done, uint64_t total) {
    bar.Update(done, total, std::chrono::steady_clock::now());
  });
}

std::string AsText(const std::vector<TextTable>& tables) {
  std::string text;
  for (const TextTable& table : tables) {
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", table.title);
    if (!table.note.empty()) text += Wrapped(table.note, kColumns, 0) + "\n";
    text += AlignedColumns(table.rows) + "\n";
  }
  return text;
}

// Sentences, as their cells are too long to stand beside each other.
std::string MissesAsText(const TextTable& misses) {
  if (misses.rows.size() < 2) return "";
  std::string text = fmt::format("\n{}\n", misses.title);
  for (size_t i = 1; i < misses.rows.size(); ++i) {
    const std::vector<std::string>& row = misses.rows[i];
    text += fmt::format("  {}  {}: expected {}, said {}{}\n", row[0], row[1], row[2], row[3],
                        row[4] == "-" ? "" : "; known: " + row[4]);
  }
  return text;
}

absl::Status WriteTextFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(fmt::format("cannot write {}", path));
}

// What makes the page anew; options that change nothing in it are left out.
std::string CommandOf(const ScoreFlags& flags) {
  std::string command = "eroica-lab score";
  for (const std::string& path : flags.paths) command += " " + path;
  if (flags.seeds > 0) command += fmt::format(" --seeds {}", flags.seeds);
  if (!flags.family.empty()) command += fmt::format(" --family '{}'", flags.family);
  if (flags.max_ranks > 0) command += fmt::format(" --max-ranks {}", flags.max_ranks);
  for (const std::string& method : flags.methods) command += " --method " + method;
  if (!flags.traces.empty()) command += " --traces " + flags.traces;
  if (!flags.known.empty()) command += " --known " + flags.known;
  return command;
}

absl::Status WriteFiles(const ScoreFlags& flags, const std::vector<ScoredRun>& runs,
                        const std::vector<MethodScore>& scores, const KnownMisses& known) {
  if (!flags.svg.empty()) {
    const std::vector<Chart> charts = {AccuracyChart(runs), ReliabilityChart(scores)};
    if (absl::Status status = WriteTextFile(flags.svg, ChartSvg(charts)); !status.ok())
      return status;
  }
  if (flags.markdown.empty()) return absl::OkStatus();
  AccuracyPage page{.command = CommandOf(flags), .chart = "", .runs = runs, .known = known};
  std::vector<std::string> sections = flags.real;
  if (!flags.live.empty()) sections.insert(sections.begin(), flags.live);
  for (const std::string& path : sections) {
    absl::StatusOr<std::string> section = ReadTextFile(path);
    if (!section.ok()) return section.status();
    page.sections.push_back(*std::move(section));
  }
  if (!flags.svg.empty())
    page.chart = fs::path(flags.svg)
                     .lexically_proximate(fs::path(flags.markdown).parent_path())
                     .generic_string();
  return WriteTextFile(flags.markdown, AccuracyMarkdown(page));
}

// Eroica where it is among the methods, else all.
bool AllRight(const std::vector<ScoredRun>& runs, const std::vector<Method>& methods) {
  const bool with_eroica = methods.front().name == kEroicaMethod;
  return std::all_of(runs.begin(), runs.end(), [with_eroica](const ScoredRun& run) {
    return run.verdict.right() || (with_eroica && run.method != kEroicaMethod);
  });
}

// The answer in one line.
std::string RightText(const std::vector<ScoredRun>& runs, const std::string& method) {
  size_t all = 0;
  size_t right = 0;
  for (const ScoredRun& run : runs) {
    if (run.method != method) continue;
    ++all;
    right += run.verdict.right() ? 1 : 0;
  }
  return fmt::format("\n{}: all right in {} of {} runs\n", method, right, all);
}

absl::StatusOr<int> RunScore(const ScoreFlags& flags) {
  const absl::StatusOr<std::vector<Method>> methods = ChooseMethods(flags.methods);
  if (!methods.ok()) return methods.status();
  KnownMisses known;
  if (!flags.known.empty()) {
    absl::StatusOr<KnownMisses> read = ReadKnownMisses(flags.known);
    if (!read.ok()) return read.status();
    known = *std::move(read);
  }
  const absl::StatusOr<std::vector<Scenario>> scenarios = ReadScenarios(flags);
  if (!scenarios.ok()) return scenarios.status();
  const std::vector<RunTask> tasks = Tasks(*scenarios, flags, *methods);
  if (tasks.empty())
    return absl::NotFoundError(
        "no scenario to run: none of the files fits --family, --max-ranks and --traces");
  const absl::StatusOr<std::vector<ScoredRun>> runs = RunAll(tasks, flags.jobs);
  if (!runs.ok()) return runs.status();
  const std::vector<MethodScore> scores = Score(*runs);
  if (absl::Status status = WriteFiles(flags, *runs, scores, known); !status.ok()) return status;
  if (flags.json) {
    std::cout << ScoreJson(scores, *runs);
  } else {
    std::vector<TextTable> tables = ScoreTables(scores);
    if (TextTable effects = Effects(*runs); effects.rows.size() > 1)
      tables.push_back(std::move(effects));
    std::cout << AsText(tables) << MissesAsText(Misses(*runs, methods->front().name, known))
              << RightText(*runs, methods->front().name);
  }
  return AllRight(*runs, *methods) ? kExitNothingFound : kExitFindings;
}

void AddOptions(CLI::App& command, ScoreFlags& flags) {
  command
      .add_option("SCENARIO", flags.paths,
                  fmt::format("Scenario files, or folders of them (default: {}, with --traces {})",
                              kScenarios, kScoredTraces))
      ->type_name("");
  command
      .add_option(
          "--seeds", flags.seeds,
          "Runs of each scenario: its own seeds first, then on from the largest (default: its own)")
      ->type_name("N");
  command.add_option("--jobs", flags.jobs, "Runs at once (default: one a core)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command
      .add_option("--family", flags.family, "Only scenarios of this family, such as \"gpu slow\"")
      ->type_name("NAME");
  command.add_option("--max-ranks", flags.max_ranks, "Only scenarios of at most so many ranks")
      ->type_name("N");
  std::string names;
  for (const Method& method : AllMethods())
    names += fmt::format("\n{}: {}", method.name, method.about);
  command
      .add_option("--method", flags.methods,
                  "What is scored, may be given several times (default: all):" + names)
      ->type_name("NAME");
  command
      .add_option("--traces", flags.traces,
                  "Folder of real traces: scenarios of traces are scored, too, and alone where no "
                  "SCENARIO is given")
      ->type_name("FOLDER");
  command
      .add_option("--known", flags.known,
                  "File of misses that are known, with their reasons: \"scenario: reason\"")
      ->type_name("FILE");
  command.add_flag("--json", flags.json,
                   "One JSON object instead of tables: the score of each method, and every run");
  command
      .add_option(
          "--live", flags.live,
          "Markdown of what was found in real jobs (ops/live.sh), to stand first on the page")
      ->type_name("FILE");
  command
      .add_option(
          "--real", flags.real,
          "Markdown of how real jobs are diagnosed as people record them (eroica-lab real), "
          "to stand behind that; may be given several times")
      ->type_name("FILE");
  command.add_option("--markdown", flags.markdown, "Write a page of all tables, too")
      ->type_name("FILE");
  command
      .add_option("--svg", flags.svg,
                  "Write charts, too: accuracy against the effect of the fault, and confidence "
                  "against being right")
      ->type_name("FILE");
}

}  // namespace

void AddScoreCommand(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<ScoreFlags>();
  CLI::App* command = app.add_subcommand(
      "score", "Run scenarios with a known truth and say how right the diagnosis is");
  AddOptions(*command, *flags);
  command->footer(
      "Examples:\n"
      "  eroica-lab score                                          all of tests/scenarios/dev, "
      "every method\n"
      "  eroica-lab score tests/scenarios/dev/gpu_slow_gross_dp_8r.toml --seeds 20 --method "
      "eroica\n"
      "  eroica-lab score --max-ranks 512 --json | jq '.methods[].faults'\n"
      "  eroica-lab score --traces traces/                         real traces with a known truth\n"
      "  eroica-lab score tests/scenarios/evaluation --live tests/live/results.md --real "
      "tests/evaluation/real/dumps.md --real tests/evaluation/real/traces.md --real "
      "tests/evaluation/real/results.md --real tests/evaluation/real/baseline.md --markdown "
      "docs/ACCURACY.md --svg docs/accuracy.svg\n\n"
      "Exit codes: 0 all right, 1 misses or false findings, 2 error.");
  command->callback([flags, exit_code] {
    const absl::StatusOr<int> code = RunScore(*flags);
    *exit_code = code.ok() ? *code : ExitWithError(code.status());
  });
}

}  // namespace eroica
