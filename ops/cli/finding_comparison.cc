#include "ops/cli/finding_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "ops/cli/finding_text.h"
#include "ops/cli/terminal.h"
#include "ops/cli/wrapped_text.h"
#include "schemas/finding_json.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kReplayId = "replay_id";
constexpr const char* kEvidence = "evidence";

Json ContentOf(const Finding& finding) {
  Json json = Json::parse(ToJson(finding, JsonTimes::kOmit), nullptr, /*allow_exceptions=*/false);
  json.erase(kReplayId);
  return json;
}

std::string ValueText(const Json& json) {
  return json.is_string() ? json.get<std::string>()
                          : json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<ChangedFinding::Field> DifferentFields(const Json& before, const Json& after) {
  std::vector<ChangedFinding::Field> fields;
  for (const auto& [name, value] : before.items()) {
    const Json other = after.contains(name) ? after.at(name) : Json();
    if (value != other) fields.push_back({name, ValueText(value), ValueText(other)});
  }
  for (const auto& [name, value] : after.items()) {
    if (!before.contains(name)) fields.push_back({name, "", ValueText(value)});
  }
  return fields;
}

const Measure* FindMeasure(const Finding& finding, const std::string& name) {
  const auto measure = std::ranges::find(finding.evidence, name, &Measure::name);
  return measure == finding.evidence.end() ? nullptr : &*measure;
}

// Both runs' numbers of each measure; those that are equal, too: a change is read against them.
std::string EvidenceText(const ChangedFinding& changed) {
  std::vector<std::string> names;
  const auto collect = [&names](const Finding& finding) {
    for (const Measure& measure : finding.evidence) {
      if (std::ranges::find(names, measure.name) == names.end()) names.push_back(measure.name);
    }
  };
  collect(changed.before);
  collect(changed.after);
  std::vector<std::vector<std::string>> rows = {
      {"", "culprit before", "after", "peers before", "after"}};
  for (const std::string& name : names) {
    const Measure* before = FindMeasure(changed.before, name);
    const Measure* after = FindMeasure(changed.after, name);
    const auto number = [](const Measure* measure, double Measure::*member) {
      return measure == nullptr ? "-" : MeasureText(measure->*member, measure->unit);
    };
    rows.push_back({Printable(name), number(before, &Measure::culprit),
                    number(after, &Measure::culprit), number(before, &Measure::peers),
                    number(after, &Measure::peers)});
  }
  return rows.size() > 1 ? AlignedColumns(rows) : "";
}

std::string Short(const std::string& value) {
  constexpr size_t kBytesMax = 160;
  const std::string clean = Printable(value);
  return clean.size() <= kBytesMax ? clean : clean.substr(0, kBytesMax) + "...";
}

// Of JSON that is too much for a line.
bool IsList(const std::string& value) { return value.starts_with("[{"); }

std::string ChangedText(const ChangedFinding& changed) {
  constexpr size_t kIndent = 6;
  std::string text = "  ~ " + FindingLine(changed.after);
  for (const ChangedFinding::Field& field : changed.fields) {
    if (field.name == kEvidence) continue;
    if (IsList(field.before) || IsList(field.after)) {
      text += fmt::format("      {}: differ (--json has them)\n", field.name);
      continue;
    }
    text += fmt::format("      {}: {}\n        now: {}\n", field.name, Short(field.before),
                        Short(field.after));
  }
  const auto is_evidence = [](const ChangedFinding::Field& field) {
    return field.name == kEvidence;
  };
  if (!std::ranges::any_of(changed.fields, is_evidence)) return text;
  return text + std::string(kIndent, ' ') + Wrapped(EvidenceText(changed), OutputWidth(), kIndent) +
         "\n";
}

std::string LinesOf(const std::vector<Finding>& findings, char mark) {
  std::string text;
  for (const Finding& finding : findings)
    text += fmt::format("  {} {}", mark, FindingLine(finding));
  return text;
}

Json FindingsJson(const std::vector<Finding>& findings) {
  Json array = Json::array();
  for (const Finding& finding : findings)
    array.push_back(Json::parse(ToJson(finding), nullptr, /*allow_exceptions=*/false));
  return array;
}

}  // namespace

FindingComparison CompareFindings(const std::vector<Finding>& before,
                                  const std::vector<Finding>& after) {
  FindingComparison comparison;
  std::map<std::string, const Finding*> rest;
  for (const Finding& finding : after) rest[finding.id] = &finding;
  for (const Finding& finding : before) {
    const auto other = rest.find(finding.id);
    if (other == rest.end()) {
      comparison.gone.push_back(finding);
      continue;
    }
    std::vector<ChangedFinding::Field> fields =
        DifferentFields(ContentOf(finding), ContentOf(*other->second));
    if (fields.empty()) {
      comparison.same.push_back(finding);
    } else {
      comparison.changed.push_back({finding, *other->second, std::move(fields)});
    }
    rest.erase(other);
  }
  for (const Finding& finding : after) {
    if (rest.contains(finding.id)) comparison.added.push_back(finding);
  }
  return comparison;
}

std::string ComparisonText(const FindingComparison& comparison, const std::string& before_name,
                           const std::string& after_name) {
  std::string text =
      fmt::format("{} -> {}: {} same, {} new, {} gone, {} changed\n", Printable(before_name),
                  Printable(after_name), comparison.same.size(), comparison.added.size(),
                  comparison.gone.size(), comparison.changed.size());
  text += LinesOf(comparison.same, '=') + LinesOf(comparison.added, '+') +
          LinesOf(comparison.gone, '-');
  for (const ChangedFinding& changed : comparison.changed) text += ChangedText(changed);
  return text;
}

std::string ComparisonJson(const FindingComparison& comparison) {
  Json changed = Json::array();
  for (const ChangedFinding& one : comparison.changed) {
    Json fields = Json::array();
    for (const ChangedFinding::Field& field : one.fields) fields.push_back(field.name);
    changed.push_back({{"id", one.before.id},
                       {"fields", std::move(fields)},
                       {"before", FindingsJson({one.before})[0]},
                       {"after", FindingsJson({one.after})[0]}});
  }
  const Json json{{"equal", comparison.equal()},
                  {"same", FindingsJson(comparison.same)},
                  {"new", FindingsJson(comparison.added)},
                  {"gone", FindingsJson(comparison.gone)},
                  {"changed", std::move(changed)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace eroica
