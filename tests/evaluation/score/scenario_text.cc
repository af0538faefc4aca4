#include "tests/evaluation/score/scenario_text.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "tests/evaluation/score/scenario_key.h"

namespace eroica {
namespace {

std::string_view SectionOf(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

std::string Rows(std::string_view title, std::string_view about) {
  return fmt::format(
      "\n## {}\n\n{}{}| key | default | unit | what it is for |\n|---|---|---|---|\n", title, about,
      about.empty() ? "" : "\n\n");
}

template <typename Target>
std::string Row(const FileKey<Target>& key) {
  const std::string_view own = std::string_view(key.name).substr(
      SectionOf(key.name).empty() ? 0 : SectionOf(key.name).size() + 1);
  const std::string standard =
      key.required ? "must be said" : fmt::format("`{}`", ToToml(key.get(Target())));
  return fmt::format("| `{}` | {} | {} | {} |\n", own, standard, key.unit, key.doc);
}

}  // namespace

std::string ScenarioReference() {
  std::string page =
      "# Scenario files\n\n"
      "Made from the declarations in `tests/evaluation/score/scenario_keys.cc` and "
      "`tests/evaluation/score/fault_keys.cc` by `eroica-lab "
      "simulate "
      "--print-scenario-reference`; a test "
      "holds the two together.\n\n"
      "A scenario is a simulated job, what is wrong with it, and what diagnosis must say: one TOML "
      "file, named after the scenario. "
      "`eroica-lab "
      "simulate` runs it, "
      "`eroica-lab score` judges by it. An unknown key, a wrong type or an impossible job stops "
      "the reading with file and line.\n";
  std::string_view section = "none yet";
  for (const FileKey<Scenario>& key : ScenarioKeys()) {
    if (SectionOf(key.name) != section) {
      section = SectionOf(key.name);
      page += section.empty() ? Rows("First lines", "") : Rows(fmt::format("[{}]", section), "");
    }
    page += Row(key);
  }
  page += Rows("[[fault]]", "One table a fault; none: a healthy job.");
  for (const FileKey<FaultEntry>& key : FaultKeys()) page += Row(key);
  page += Rows("[[resize]]",
               "One table a change of the job's size: its processes end, and others go on with the "
               "steps; by step.");
  for (const FileKey<simulate::Resize>& key : ResizeKeys()) page += Row(key);
  page += Rows("[[expect]]", "One table a finding that must come; none: nothing may be found.");
  for (const FileKey<ExpectedFinding>& key : ExpectedKeys()) page += Row(key);
  page += Rows("[[expect.or]]",
               "What every measurement agrees with as well as with the [[expect]] above it, and "
               "which is as right: the other end of a link, another cause.");
  for (const FileKey<ExpectedFinding>& key : AlternativeKeys()) page += Row(key);
  page +=
      "\n## Kinds of faults\n\nWhat each does, where it is known from, and what its severity "
      "measures: "
      "`tests/evaluation/simulate/fault.h`.\n\n";
  for (int kind = 0; kind < simulate::kFaultKindCount; ++kind)
    page += fmt::format("- `{}`\n", ToString(static_cast<simulate::FaultKind>(kind)));
  return page;
}

}  // namespace eroica
