#include "tests/evaluation/score/score_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace eroica {
namespace {

using Row = std::vector<std::string>;

std::string Share(uint32_t part, uint32_t whole) {
  if (whole == 0) return "-";
  // 99.96 % is not 100 %: nothing is rounded up to perfection.
  const double percent = part == whole ? 100.0 : std::min(99.9, 100.0 * part / whole);
  return fmt::format("{:.1f} %", percent);
}

constexpr int64_t kPromptWindows = 2;

std::string Percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

std::string MedianWindows(const std::vector<int64_t>& windows) {
  if (windows.empty()) return "-";
  return fmt::format("{:.1f}", Median({windows.begin(), windows.end()}));
}

Row FaultCells(const FaultCounts& counts) {
  return {fmt::format("{}", counts.runs),
          fmt::format("{}", counts.faults),
          Share(counts.found, counts.faults),
          Share(counts.right_rank, counts.faults),
          Share(counts.right_function, counts.faults),
          Share(counts.right_kind, counts.faults),
          Share(counts.right, counts.faults),
          fmt::format("{}", counts.false_findings),
          fmt::format("{}", counts.repetitions),
          MedianWindows(counts.windows)};
}

const Row kFaultColumns = {"runs", "faults",    "found", "rank",     "+ function",
                           "kind", "all right", "false", "repeated", "windows"};

Row Joined(Row head, const Row& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

TextTable MethodTable(std::span<const MethodScore> scores) {
  TextTable table{
      .title = "All methods",
      .note =
          "rank: the right culprits and nobody else; + function: what they ran, too. windows: "
          "median from the fault's first to "
          "the first right finding.",
      .rows = {Joined({"method"}, Joined(kFaultColumns, {"quiet runs", "quiet job-hours",
                                                         "false there", "per job-hour"}))}};
  for (const MethodScore& score : scores) {
    const QuietCounts& quiet = score.quiet_total;
    const std::string rate =
        quiet.job_hours > 0 ? fmt::format("{:.2f}", quiet.false_findings / quiet.job_hours) : "-";
    table.rows.push_back(
        Joined({score.method},
               Joined(FaultCells(score.total),
                      {fmt::format("{}", quiet.runs), fmt::format("{:.2f}", quiet.job_hours),
                       fmt::format("{}", quiet.false_findings), rate})));
  }
  return table;
}

TextTable EffectTable(std::span<const MethodScore> scores) {
  TextTable table{.title = "By effect on the step time",
                  .note =
                      "By what each fault costs alone: the job with all of its faults against the "
                      "same without this one. A hang counts "
                      "among the largest.",
                  .rows = {Joined({"method", "effect"}, kFaultColumns)}};
  for (const MethodScore& score : scores) {
    for (const EffectClass effect :
         {EffectClass::kLarge, EffectClass::kMiddle, EffectClass::kSmall, EffectClass::kUnknown}) {
      const FaultCounts& counts = score.by_effect[static_cast<size_t>(effect)];
      if (counts.runs > 0)
        table.rows.push_back(
            Joined({score.method, std::string(ToString(effect))}, FaultCells(counts)));
    }
  }
  return table;
}

TextTable ScaleTable(std::span<const MethodScore> scores) {
  TextTable table{.title = "By scale",
                  .note = "All faults, whatever they cost.",
                  .rows = {Joined({"method", "ranks"}, kFaultColumns)}};
  for (const MethodScore& score : scores) {
    for (int scale = 0; scale < kScaleCount; ++scale) {
      const FaultCounts& counts = score.by_scale[static_cast<size_t>(scale)];
      if (counts.runs > 0)
        table.rows.push_back(
            Joined({score.method, std::string(ScaleName(scale))}, FaultCells(counts)));
    }
  }
  return table;
}

TextTable FamilyTable(const MethodScore& score) {
  TextTable table{.title = fmt::format("Faults by family and scale: {}", score.method),
                  .note = "effect: median lengthening of a step by the fault.",
                  .rows = {Joined({"family", "ranks"}, Joined(kFaultColumns, {"effect"}))}};
  for (const auto& [key, counts] : score.families) {
    const std::string effect = counts.effects.empty() ? "-" : Percent(Median(counts.effects));
    table.rows.push_back(Joined({key.family, std::string(ScaleName(key.scale))},
                                Joined(FaultCells(counts), {effect})));
  }
  return table;
}

TextTable QuietTable(const MethodScore& score) {
  TextTable table{
      .title = fmt::format("Jobs with nothing to find: {}", score.method),
      .note = "job-hours: of training, as it would have run.",
      .rows = {{"family", "ranks", "runs", "disturbed", "job-hours", "false", "per job-hour"}}};
  for (const auto& [key, counts] : score.quiet) {
    const std::string rate = counts.job_hours > 0
                                 ? fmt::format("{:.2f}", counts.false_findings / counts.job_hours)
                                 : "-";
    table.rows.push_back({key.family, std::string(ScaleName(key.scale)),
                          fmt::format("{}", counts.runs), fmt::format("{}", counts.runs_disturbed),
                          fmt::format("{:.2f}", counts.job_hours),
                          fmt::format("{}", counts.false_findings), rate});
  }
  return table;
}

TextTable ConfusionTable(const MethodScore& score) {
  std::set<std::string> said;
  for (const auto& [expected, counts] : score.confusion) {
    for (const auto& [kind, count] : counts) said.insert(kind);
  }
  TextTable table{.title = fmt::format("What was, and what was said: {}", score.method),
                  .note =
                      "Row: the kind that was right. Column: the kind that was said. The row "
                      "\"nothing\" holds the false findings, the "
                      "column the misses.",
                  .rows = {Joined({"was \\ said"}, Row(said.begin(), said.end()))}};
  for (const auto& [expected, counts] : score.confusion) {
    Row row = {expected};
    for (const std::string& kind : said) {
      const auto it = counts.find(kind);
      row.push_back(it == counts.end() ? "." : fmt::format("{}", it->second));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

TextTable ConfidenceTable(std::span<const MethodScore> scores) {
  TextTable table{.title = "Confidence against being right",
                  .note =
                      "Of the findings said with a confidence of 0.9, about 90 % should be right "
                      "in culprit and kind.",
                  .rows = {{"method", "confidence", "said", "mean", "right"}}};
  for (const MethodScore& score : scores) {
    for (size_t bin = 0; bin < score.confidence.size(); ++bin) {
      const ConfidenceBin& counts = score.confidence[bin];
      if (counts.said == 0) continue;
      table.rows.push_back(
          {score.method,
           fmt::format("{:.1f} to {:.1f}", kConfidenceBounds[bin], kConfidenceBounds[bin + 1]),
           fmt::format("{}", counts.said),
           fmt::format("{:.2f}", counts.confidence_sum / counts.said),
           Share(counts.right, counts.said)});
    }
  }
  return table;
}

// A run's place in lists.
std::string Seeded(const RunFacts& facts) {
  return fmt::format("{} / {}", facts.scenario, facts.seed);
}

// What each of the expected findings' faults costs, as they stand in the scenario; empty where
// there is one.
std::string EffectsAlone(const std::map<uint64_t, const ScoredRun*>& seeds) {
  std::string text;
  int faults = 0;
  const std::vector<TruthVerdict>& truths = seeds.begin()->second->verdict.truths;
  for (size_t i = 0; i < truths.size(); ++i) {
    if (!truths[i].required) continue;
    std::vector<double> effects;
    for (const auto& [seed, run] : seeds) {
      if (run->truths[i].effect) effects.push_back(*run->truths[i].effect);
    }
    text += fmt::format("{}{}", faults++ == 0 ? "" : ", ",
                        effects.empty() ? "-" : Percent(Median(effects)));
  }
  return faults > 1 ? text : "";
}

std::string Shortcoming(const Agreement& agreement) {
  std::string text;
  const auto add = [&text](bool right, std::string_view what) {
    if (!right) text += fmt::format("{}{}", text.empty() ? "wrong " : ", ", what);
  };
  add(agreement.rank, "culprit");
  add(agreement.function, "function");
  add(agreement.kind, "kind");
  return text;
}

}  // namespace

TextTable Targets(const MethodScore& score, const FaultCounts& prompt) {
  TextTable table{.title = fmt::format("Targets: {}", score.method),
                  .note =
                      "Right culprit: who and what function, or the host, or the link. A fault "
                      "that costs less than 1 % of the step time "
                      "is no part of the "
                      "targets; it is listed below.",
                  .rows = {{"what", "asked", "reached", "of"}}};
  const auto add = [&table](std::string what, std::string asked, std::string reached,
                            std::string of) {
    table.rows.push_back({std::move(what), std::move(asked), std::move(reached), std::move(of)});
  };
  const auto faults = [](uint32_t count) { return fmt::format("{} faults", count); };
  const FaultCounts& large = score.by_effect[static_cast<size_t>(EffectClass::kLarge)];
  const FaultCounts& middle = score.by_effect[static_cast<size_t>(EffectClass::kMiddle)];
  const QuietCounts& quiet = score.quiet_total;
  add("right culprit, faults that cost 3 % and more", "99 %",
      Share(large.right_function, large.faults), faults(large.faults));
  add("right kind, the same", "99 %", Share(large.right_kind, large.faults), faults(large.faults));
  add("windows to the right culprit, the same", "2", MedianWindows(large.windows),
      fmt::format("{} faults, median", large.windows.size()));
  const auto in_time = std::count_if(prompt.windows.begin(), prompt.windows.end(),
                                     [](int64_t windows) { return windows <= kPromptWindows; });
  add("named rightly within 2 windows, the same", "99 %",
      Share(static_cast<uint32_t>(in_time), prompt.faults), faults(prompt.faults));
  add("right culprit, faults that cost 1 to 3 %", "90 %",
      Share(middle.right_function, middle.faults), faults(middle.faults));
  add("false findings in jobs with nothing to find", "0", fmt::format("{}", quiet.false_findings),
      fmt::format("{} runs, {:.1f} job-hours", quiet.runs, quiet.job_hours));
  add("false findings beside faults", "0", fmt::format("{}", score.total.false_findings),
      fmt::format("{} runs", score.total.runs));
  const FaultCounts& small = score.large_by_scale.front();
  const FaultCounts& huge = score.large_by_scale.back();
  add(fmt::format("right culprit, 3 % and more, {} ranks", ScaleName(kScaleCount - 1)),
      Share(small.right_function, small.faults) + " as " + std::string(ScaleName(0)),
      Share(huge.right_function, huge.faults), faults(huge.faults));
  return table;
}

std::vector<TextTable> ScoreTables(std::span<const MethodScore> scores) {
  std::vector<TextTable> tables;
  if (!scores.empty() && scores.front().total.faults + scores.front().quiet_total.runs > 0)
    tables.push_back(Targets(scores.front(),
                             scores.front().by_effect[static_cast<size_t>(EffectClass::kLarge)]));
  for (TextTable& table :
       std::vector<TextTable>{MethodTable(scores), EffectTable(scores), ScaleTable(scores)})
    tables.push_back(std::move(table));
  for (const MethodScore& score : scores) {
    tables.push_back(FamilyTable(score));
    tables.push_back(QuietTable(score));
    tables.push_back(ConfusionTable(score));
  }
  tables.push_back(ConfidenceTable(scores));
  std::erase_if(tables, [](const TextTable& table) { return table.rows.size() < 2; });
  return tables;
}

TextTable Misses(std::span<const ScoredRun> runs, const std::string& method,
                 const KnownMisses& known) {
  TextTable table{.title = fmt::format("Not right: {}", method),
                  .note = "",
                  .rows = {{"scenario / seed", "what", "expected", "said", "reason"}}};
  for (const ScoredRun& run : runs) {
    if (run.method != method || run.verdict.right()) continue;
    const auto it = known.find(run.facts.scenario);
    const std::string reason = it == known.end() ? "-" : it->second;
    for (size_t i = 0; i < run.truths.size(); ++i) {
      const TruthVerdict& verdict = run.verdict.truths[i];
      if (verdict.agreement.all() || !verdict.required) continue;
      table.rows.push_back(
          {Seeded(run.facts), verdict.found() ? Shortcoming(verdict.agreement) : "missed",
           Brief(run.truths[i].expected),
           verdict.found() ? Brief(run.said[static_cast<size_t>(verdict.said)]) : "nothing",
           reason});
    }
    for (size_t i = 0; i < run.said.size(); ++i) {
      if (run.verdict.said[i].truth < 0)
        table.rows.push_back({Seeded(run.facts), "false", "nothing", Brief(run.said[i]), reason});
    }
  }
  return table;
}

TextTable ToldLate(std::span<const ScoredRun> runs, const std::string& method,
                   const KnownMisses& known) {
  std::vector<std::pair<int64_t, std::vector<std::string>>> late;
  for (const ScoredRun& run : runs) {
    if (run.method != method) continue;
    const std::string reason = WhyMoreWindows(known, run.facts.scenario, run.facts.family);
    for (size_t i = 0; i < run.truths.size(); ++i) {
      const int64_t windows = run.verdict.truths[i].windows;
      const std::optional<double>& effect = run.truths[i].effect;
      if (windows <= kPromptWindows || !run.verdict.truths[i].required ||
          EffectClassOf(effect, run.facts.hangs) != EffectClass::kLarge)
        continue;
      late.push_back(
          {windows,
           {Seeded(run.facts), effect ? Percent(*effect) : "-", fmt::format("{}", windows),
            Brief(run.truths[i].expected), reason.empty() ? "-" : reason}});
    }
  }
  std::ranges::stable_sort(late, std::ranges::greater(), [](const auto& row) { return row.first; });
  TextTable table{
      .title = fmt::format("Told late: {}", method),
      .note = "Faults that cost 3 % and more, told rightly, but not within two windows.",
      .rows = {{"scenario / seed", "effect", "windows", "expected", "reason"}}};
  for (auto& [windows, row] : late) table.rows.push_back(std::move(row));
  return table;
}

TextTable Effects(std::span<const ScoredRun> runs) {
  // Every method saw the same runs.
  std::map<std::pair<std::string, std::string>, std::map<uint64_t, const ScoredRun*>> scenarios;
  for (const ScoredRun& run : runs) {
    if (run.facts.effect || run.facts.hangs)
      scenarios[{run.facts.family, run.facts.scenario}][run.facts.seed] = &run;
  }
  TextTable table{.title = "Effect of each fault on the step time",
                  .note =
                      "Mean step with the fault against the same job and seed without it, over the "
                      "steps in which it can show; median over "
                      "the seeds. Where a job has several faults, "
                      "of all together, and what each costs beside the others.",
                  .rows = {{"family", "scenario", "ranks", "seeds", "effect"}}};
  for (const auto& [key, seeds] : scenarios) {
    std::vector<double> effects;
    bool hangs = false;
    for (const auto& [seed, run] : seeds) {
      hangs = hangs || run->facts.hangs;
      if (run->facts.effect) effects.push_back(*run->facts.effect);
    }
    const ScoredRun& first = *seeds.begin()->second;
    const std::string alone = EffectsAlone(seeds);
    std::string effect = hangs ? "hangs" : Percent(Median(effects));
    if (!hangs && !alone.empty()) effect += " (" + alone + ")";
    table.rows.push_back({key.first, key.second, fmt::format("{}", first.facts.ranks),
                          fmt::format("{}", seeds.size()), effect});
  }
  return table;
}

std::string AsMarkdown(std::span<const TextTable> tables) {
  std::string text;
  const auto cell = [](const std::string& content) {
    std::string escaped;
    for (const char c : content) {
      if (c == '|' || c == '<' || c == '*' || c == '\\' || c == '_') escaped += '\\';
      escaped += c == '\n' ? ' ' : c;
    }
    return escaped;
  };
  for (const TextTable& table : tables) {
    text += fmt::format("{}## {}\n\n", text.empty() ? "" : "\n", table.title);
    if (!table.note.empty()) text += table.note + "\n\n";
    for (size_t i = 0; i < table.rows.size(); ++i) {
      text += "|";
      for (const std::string& content : table.rows[i]) text += fmt::format(" {} |", cell(content));
      text += "\n";
      if (i > 0) continue;
      text += "|";
      for (size_t column = 0; column < table.rows[i].size(); ++column)
        text += column == 0 ? "---|" : "---:|";
      text += "\n";
    }
  }
  return text;
}

}  // namespace eroica
