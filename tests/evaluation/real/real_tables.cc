#include "tests/evaluation/real/real_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace eroica {
namespace {

constexpr char kHead[] = R"(## Real jobs under variations

Written by `{}`. Each job is diagnosed as people
record theirs: in windows of several lengths, without Python stacks (what PyTorch's profiler does by
default), with only some of its ranks, and without step marks. The world size stays, so that the
diagnosis can know what is missing.

Of ranks every choice is run: each second one and either half of them, likewise quarters, one rank of each
host (all jobs ran on one, so that this is a rank alone, as a quarter of four ranks is), and all but any
one. "Culprit out": nobody who is at fault is recorded.

- **right**: who is at fault and the function; of a healthy job: silence. Where the culprit is not
  recorded: that the missing ranks are the first suspects. Without stacks no function has to be named.
- **partly**: nobody is blamed who is not at fault, but not all is right: the rank without its function, the
  kind of fault without who it is, one of two faults.
- **unsure**: said to be undecided, or that nobody can tell, as too little is recorded. **missed**: silent
  where something was to be said.
- **wrong**: blames a rank, a host, a network, data or a function that is not at fault; says that all ranks
  are slower where one is; suspects missing ranks where none of them is at fault (partly, beside who is).

A cell of several choices of ranks names the worst of them: `wrong 2/7` is two of seven. `-`: there is no
such recording of this job. Recordings (`tests/golden/live`, from `healthy` on) are of 144 steps, the fault
from step 48 on, in windows of 32 steps; other jobs are traces of up to 32 steps.
)";

struct RowKey {
  std::string job;
  uint32_t window_steps = 0;
  friend bool operator==(const RowKey&, const RowKey&) = default;
};

// In order of first appearance.
std::vector<RowKey> RowsOf(std::span<const RealRun> runs) {
  std::vector<RowKey> rows;
  for (const RealRun& run : runs) {
    const RowKey key{run.job, run.variation.window_steps};
    if (std::ranges::find(rows, key) == rows.end()) rows.push_back(key);
  }
  return rows;
}

std::string Cell(const OutcomeCounts& counts) {
  const uint32_t all = std::accumulate(counts.begin(), counts.end(), 0u);
  if (all == 0) return "-";
  size_t worst = kRealOutcomeCount - 1;
  while (counts[worst] == 0) --worst;
  const std::string_view word = ToString(static_cast<RealOutcome>(worst));
  return counts[worst] == all ? std::string(word)
                              : fmt::format("{} {}/{}", word, counts[worst], all);
}

// Counts of healthy jobs and of the others.
struct Ended {
  OutcomeCounts healthy{};
  OutcomeCounts faulty{};
};

// A row for each key, in their order, and one for all.
TextTable Totals(std::span<const RealRun> runs, const std::string& title, const std::string& what,
                 const std::vector<std::string>& keys,
                 const std::function<std::string(const RealRun&)>& key_of) {
  TextTable table{.title = title,
                  .note = "",
                  .rows = {{what, "faulty", "right", "partly", "unsure", "missed", "wrong",
                            "healthy", "silent", "unsure", "wrong"}}};
  std::map<std::string, Ended> ended;
  for (const RealRun& run : runs) {
    for (const std::string& key : {key_of(run), std::string("all")}) {
      Ended& counts = ended[key];
      ++(run.healthy ? counts.healthy : counts.faulty)[static_cast<size_t>(run.verdict.outcome)];
    }
  }
  const auto add_row = [&](const std::string& key) {
    if (!ended.contains(key)) return;
    const auto& [healthy, faulty] = ended[key];
    const auto count = [](const OutcomeCounts& counts, RealOutcome outcome) {
      return fmt::format("{}", counts[static_cast<size_t>(outcome)]);
    };
    std::vector<std::string> row = {
        key, fmt::format("{}", std::accumulate(faulty.begin(), faulty.end(), 0u))};
    for (const RealOutcome outcome :
         {RealOutcome::kRight, RealOutcome::kPartly, RealOutcome::kUnsure, RealOutcome::kMissed,
          RealOutcome::kWrong})
      row.push_back(count(faulty, outcome));
    row.push_back(fmt::format("{}", std::accumulate(healthy.begin(), healthy.end(), 0u)));
    for (const RealOutcome outcome :
         {RealOutcome::kRight, RealOutcome::kUnsure, RealOutcome::kWrong})
      row.push_back(count(healthy, outcome));
    table.rows.push_back(std::move(row));
  };
  for (const std::string& key : keys) add_row(key);
  add_row("all");
  return table;
}

std::string KindOf(const Finding& finding) {
  return finding.subkind.empty() ? std::string(ToString(finding.kind))
                                 : fmt::format("{}, {}", ToString(finding.kind), finding.subkind);
}

// Kind and sentence of all that a run says wrongly.
std::vector<std::pair<std::string, std::string>> WrongOf(const RealRun& run) {
  std::vector<std::pair<std::string, std::string>> wrong;
  for (size_t i = 0; i < run.said.size(); ++i) {
    const Finding& finding = run.said[i].finding;
    if (run.verdict.wrong[i]) wrong.emplace_back(KindOf(finding), finding.title);
  }
  if (run.verdict.wrong_suspects)
    wrong.emplace_back("missing ranks suspected", run.gaps.sentences.front());
  return wrong;
}

}  // namespace

TextTable RealTable(std::span<const RealRun> runs) {
  TextTable table{.title = "How each ended", .note = "", .rows = {{"job", "window"}}};
  const std::vector<std::string> columns = RealColumns();
  table.rows[0].insert(table.rows[0].end(), columns.begin(), columns.end());
  for (const RowKey& key : RowsOf(runs)) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {key.job, WindowName(key.window_steps)};
    for (const std::string& column : columns) {
      OutcomeCounts counts{};
      for (const RealRun& run : runs) {
        if (run.job == key.job && run.variation.window_steps == key.window_steps &&
            ColumnOf(run) == column)
          ++counts[static_cast<size_t>(run.verdict.outcome)];
      }
      row.push_back(Cell(counts));
    }
  }
  return table;
}

std::vector<TextTable> RealTotals(std::span<const RealRun> runs) {
  std::set<uint32_t> lengths;
  for (const RealRun& run : runs) lengths.insert(run.variation.window_steps);
  std::vector<std::string> windows;
  for (const uint32_t length : lengths) windows.push_back(WindowName(length));
  return {Totals(runs, "Runs by kind of recording", "recorded", RealColumns(), ColumnOf),
          Totals(runs, "Runs by length of windows", "window", windows,
                 [](const RealRun& run) { return WindowName(run.variation.window_steps); })};
}

TextTable WrongStatements(std::span<const RealRun> runs) {
  struct Said {
    uint32_t faulty = 0;
    uint32_t healthy = 0;
    std::map<std::string, uint32_t> sentences;
  };
  std::map<std::string, Said> kinds;
  for (const RealRun& run : runs) {
    std::set<std::string> counted;  // once a run
    for (const auto& [kind, sentence] : WrongOf(run)) {
      Said& said = kinds[kind];
      ++said.sentences[sentence];
      if (counted.insert(kind).second) ++(run.healthy ? said.healthy : said.faulty);
    }
  }
  TextTable table{.title = "What was wrongly said",
                  .note = "By kind: runs in which it was said, and the sentence said most often.",
                  .rows = {{"kind", "of faulty jobs", "of healthy jobs", "for example"}}};
  for (const auto& [kind, said] : kinds) {
    const auto often =
        std::ranges::max_element(said.sentences, {}, [](const auto& one) { return one.second; });
    table.rows.push_back(
        {kind, fmt::format("{}", said.faulty), fmt::format("{}", said.healthy), often->first});
  }
  return table;
}

std::string RealMarkdown(std::span<const RealRun> runs, const std::string& command) {
  std::vector<TextTable> tables = RealTotals(runs);
  tables.push_back(RealTable(runs));
  tables.push_back(WrongStatements(runs));
  std::string text = fmt::format(kHead, command);
  for (const TextTable& table : tables) {
    if (table.rows.size() > 1) text += "\n#" + AsMarkdown({&table, 1});  // a level below
  }
  return text;
}

}  // namespace eroica
