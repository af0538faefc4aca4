#include "tests/evaluation/score/accuracy_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace eroica {
namespace {

constexpr char kHead[] = R"(# Accuracy

Written by `{}`. Each scenario (`tests/scenarios`) is a training job that is simulated with every seed and diagnosed by every method; real traces with a known truth are
judged by the same rules.

How a run is judged (`tests/evaluation/score/verdict.h`):

- A finding belongs to an expected one where its culprits are the expected ones or some of them, or where it names nobody and is right in kind. What belongs to nothing is a
  **false** finding. Of several that belong to one expected finding the best counts; the others are **repeated**.
- **rank**: all culprits and nobody else; or the host where that is enough; or both ends of a link; or nobody, where nobody is to be blamed. **+ function**: what they ran,
  too. **kind**: slow rank, imbalance, communication and so on. **windows**: from the first whose steps the fault makes longer by 1 % to the first right culprit, both counted.
- Eroica is judged by everything that it ever opened in a run. A method that is one operator alone is judged more kindly: a claim counts only where it was made in at least
  half of the windows from the one on in which the fault first shows (`tests/evaluation/score/window_claims.h`).
- The **effect** of a fault is how much longer its steps are than those of the same job and seed without it, and with whatever else is wrong in the job.
)";

// What the method reached where the telemetry tells at all. Nothing where it tells everything.
std::vector<TextTable> TargetsOfTold(const AccuracyPage& page) {
  std::vector<ScoredRun> told;
  std::ranges::copy_if(page.runs, std::back_inserter(told), [&](const ScoredRun& run) {
    return !CannotBeTold(page.known, run.facts.scenario);
  });
  if (told.empty() || told.size() == page.runs.size()) return {};
  std::vector<ScoredRun> prompt;
  std::ranges::copy_if(told, std::back_inserter(prompt), [&](const ScoredRun& run) {
    return WhyMoreWindows(page.known, run.facts.scenario, run.facts.family).empty();
  });
  const FaultCounts large =
      prompt.empty() ? FaultCounts{}
                     : Score(prompt).front().by_effect[static_cast<size_t>(EffectClass::kLarge)];
  TextTable table = Targets(Score(told).front(), large);
  table.title += ", without what nothing in the telemetry tells";
  table.note =
      "Without the scenarios of which the list of what is not right says that they cannot be told, "
      "and by what they could be; of those "
      "named within 2 windows "
      "also without those that two windows cannot tell (see what was told late).";
  return {table};
}

}  // namespace

std::string AccuracyMarkdown(const AccuracyPage& page) {
  const std::vector<MethodScore> scores = Score(page.runs);
  std::vector<TextTable> tables = ScoreTables(scores);
  for (TextTable& table : TargetsOfTold(page)) tables.insert(tables.begin() + 1, std::move(table));
  tables.push_back(Effects(page.runs));
  if (!scores.empty()) {
    tables.push_back(Misses(page.runs, scores.front().method, page.known));
    tables.push_back(ToldLate(page.runs, scores.front().method, page.known));
  }
  std::erase_if(tables, [](const TextTable& table) { return table.rows.size() < 2; });
  std::string text = fmt::format(kHead, page.command);
  for (const std::string& section : page.sections) text += "\n" + section;
  if (!page.chart.empty())
    text += fmt::format(
        "\n![Accuracy against the effect of the fault, and confidence against being right]({})\n",
        page.chart);
  return text + "\n" + AsMarkdown(tables);
}

}  // namespace eroica
