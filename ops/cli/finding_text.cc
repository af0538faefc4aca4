#include "ops/cli/finding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "diagnosis/report/duration_text.h"
#include "diagnosis/report/finding_measures.h"
#include "ops/cli/time_text.h"
#include "ops/cli/wrapped_text.h"
#include "schemas/function.h"
#include "schemas/printable_text.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

// "arrived_last" is a name for programs.
std::string Spaced(std::string_view name) {
  std::string text = Printable(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string CulpritText(const Culprit& culprit) {
  std::string text = culprit.rank >= 0 ? fmt::format("rank {}", culprit.rank) : "no rank";
  if (culprit.peer >= 0) text += fmt::format(" and its link to rank {}", culprit.peer);
  std::string where;
  if (!culprit.host.empty()) where = "host " + Printable(culprit.host);
  if (culprit.device >= 0)
    where += fmt::format("{}device {}", where.empty() ? "" : ", ", culprit.device);
  return where.empty() ? text : fmt::format("{} ({})", text, where);
}

std::string Culprits(const Finding& finding) {
  std::string text;
  for (const Culprit& culprit : finding.culprits)
    text += (text.empty() ? "" : ", ") + CulpritText(culprit);
  return text;
}

// Dumps say how far ranks are, and not since when.
std::string VictimText(const Victim& victim, bool of_hang) {
  if (of_hang && victim.lost_ns < kNsPerSecond)
    return fmt::format("rank {} waits", victim.rank.value);
  return fmt::format("rank {} lost {}", victim.rank.value,
                     DurationText(static_cast<double>(victim.lost_ns)));
}

std::string Victims(const Finding& finding, size_t victims_max) {
  std::vector<Victim> victims = finding.victims;
  std::stable_sort(victims.begin(), victims.end(),
                   [](const Victim& a, const Victim& b) { return a.lost_ns > b.lost_ns; });
  std::string text;
  int64_t others_ns = 0;
  for (size_t i = 0; i < victims.size(); ++i) {
    if (i >= victims_max) {
      others_ns += victims[i].lost_ns;
      continue;
    }
    text += (i == 0 ? "" : ", ") + VictimText(victims[i], finding.kind == FindingKind::kHang);
  }
  if (victims.size() > victims_max) {
    text += fmt::format(" and {} more {} together", victims.size() - victims_max,
                        DurationText(static_cast<double>(others_ns)));
  }
  const bool earlier = finding.first_window < finding.last_window;
  return text.empty() || !earlier ? text : text + " (in the newest window)";
}

// "as much as 1.35 of 4 ranks do".
std::string RanksLostText(const Finding& finding) {
  constexpr double kSecondsPerHour = 3'600;
  const std::string of_all =
      finding.world_size > 0 ? fmt::format(" of {}", finding.world_size) : std::string();
  return fmt::format("the work of {:.3g}{} ranks",
                     finding.lost_gpu_seconds_per_hour / kSecondsPerHour, of_all);
}

std::string Cost(const Finding& finding) {
  std::string text;
  if (finding.lost_ns_per_step > 0) text = DurationText(finding.lost_ns_per_step) + " a step";
  if (finding.lost_gpu_seconds_per_hour > 0)
    text += (text.empty() ? "" : ", ") + RanksLostText(finding);
  return text;
}

// Of a terminal that is too narrow for the table: each number with what it is.
std::string EvidenceList(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (size_t row = 1; row < rows.size(); ++row) {
    text += (row == 1 ? "" : "\n") + rows[row][0];
    for (size_t i = 1; i < rows[row].size(); ++i) {
      if (rows[row][i] == "-") continue;
      text += fmt::format("{} {} {}", i == 1 ? ":" : ",", rows[0][i], rows[row][i]);
    }
  }
  return text;
}

std::string Evidence(const Finding& finding, size_t width) {
  if (finding.evidence.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"", "culprit", "peers", "threshold", "samples"}};
  for (const Measure& m : finding.evidence) {
    if (m.name == "lasted") continue;  // a line of its own
    rows.push_back({Spaced(m.name), MeasureText(m.culprit, m.unit), MeasureText(m.peers, m.unit),
                    m.threshold == 0 ? "-" : MeasureText(m.threshold, m.unit),
                    fmt::format("{}", m.samples)});
  }
  const std::string table = AlignedColumns(rows);
  return table.find('\n') <= width ? table : EvidenceList(rows);
}

// "3.2 s, in 5 of 6 windows".
std::string Lasted(const Finding& finding) {
  const Measure* lasted = FindLasted(finding);
  if (lasted == nullptr) return "";
  const int64_t windows = finding.last_window - finding.first_window + 1;
  return fmt::format("{}, seen in {} of {} window{}", DurationText(lasted->culprit),
                     lasted->samples, windows, windows == 1 ? "" : "s");
}

// Each effect is a sentence of its own, with its rank and what it lost.
std::string Chain(const Finding& finding) {
  std::string text;
  for (const Effect& effect : finding.chain)
    text += (text.empty() ? "" : "\n-> ") + Printable(effect.description);
  return text;
}

std::string Basis(const Finding& finding) {
  std::string text = fmt::format("{:.2f}, ", finding.confidence);
  if (finding.first_step >= 0) {
    text += finding.first_step == finding.last_step
                ? fmt::format("step {}", finding.first_step)
                : fmt::format("steps {} to {}", finding.first_step, finding.last_step);
  } else {
    text += finding.first_window == finding.last_window
                ? fmt::format("window {}", finding.first_window)
                : fmt::format("windows {} to {}", finding.first_window, finding.last_window);
  }
  text += fmt::format(", {} of {} ranks seen", finding.ranks_seen, finding.world_size);
  if (finding.events == 0 && finding.events_lost == 0) return text;  // a hang: evidence are reports
  return text +
         fmt::format(", {} events, {} lost", finding.events,
                     finding.events_lost == 0 ? "none" : fmt::format("{}", finding.events_lost));
}

std::string What(const Finding& finding) {
  if (finding.function.empty()) return "";
  const std::string_view name = ToString(finding.function_class);
  std::string text = finding.function == fmt::format("every {} function", name)
                         ? fmt::format("everything of the class {}", name)
                         : fmt::format("{} ({})", Printable(finding.function), name);
  if (!finding.stack.empty()) text += fmt::format("\ncalled by {}", Printable(finding.stack));
  return text;
}

std::string_view ColorOf(Severity severity) {
  switch (severity) {
    case Severity::kCritical: return "\x1b[1;31m";
    case Severity::kMajor: return "\x1b[31m";
    case Severity::kMinor: return "\x1b[33m";
    case Severity::kInfo: return "\x1b[36m";
  }
  return "";
}

std::string Caveats(const Finding& finding) {
  std::string text;
  for (const std::string& caveat : finding.caveats)
    text += (text.empty() ? "" : "\n") + Printable(caveat);
  return text;
}

}  // namespace

std::string Colored(std::string_view text, Severity severity, bool color) {
  constexpr std::string_view kPlain = "\x1b[0m";
  return color ? fmt::format("{}{}{}", ColorOf(severity), text, kPlain) : std::string(text);
}

std::string MeasureText(double value, std::string_view unit) {
  if (unit == "ns") return DurationText(value);
  if (unit == "probability") return fmt::format("{:.2g}", value);
  if (unit == "GB/s") return SpeedText(value);
  if (unit == "bytes") return BytesText(value);
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

std::string FindingText(const Finding& finding, const FindingTextOptions& options) {
  constexpr size_t kLabelWidth = 14;
  const std::string severity = fmt::format("[{}]", ToString(finding.severity));
  std::string text =
      Wrapped(severity + " " + Printable(finding.title), options.width, 0).substr(severity.size()) +
      "\n";
  text.insert(0, Colored(severity, finding.severity, options.color));
  const auto section = [&](std::string_view label, const std::string& content) {
    if (content.empty()) return;
    text += fmt::format("  {:<{}}{}\n", label, kLabelWidth - 2,
                        Wrapped(content, options.width, kLabelWidth));
  };
  text += "\n";
  section("job", Printable(finding.job.value));
  section("first seen", LocalTimeText(finding.first_seen_ns));
  section("last seen", LocalTimeText(finding.last_seen_ns));
  section("who", Culprits(finding));
  section("ran", What(finding));
  section("cost", Cost(finding));
  section("lasted", Lasted(finding));
  section("victims", Victims(finding, options.victims_max));
  section("evidence", Evidence(finding, options.width - kLabelWidth));
  section("chain", Chain(finding));
  section("why", Printable(finding.explanation));
  section("caveats", Caveats(finding));
  section("confidence", Basis(finding));
  section("next", Printable(finding.suggested_action));
  section("kind", finding.subkind.empty()
                      ? std::string(ToString(finding.kind))
                      : fmt::format("{} ({})", ToString(finding.kind), Spaced(finding.subkind)));
  section("id", fmt::format("{} {}", Printable(finding.id), ToString(finding.state)));
  return text;
}

std::string FindingLine(const Finding& finding, bool color) {
  const std::string severity(ToString(finding.severity));
  const std::string blanks(severity.size() < 8 ? 8 - severity.size() : 0, ' ');
  return fmt::format("{}{} {} {:<8} job {}: {}\n", Colored(severity, finding.severity, color),
                     blanks, Printable(finding.id.substr(0, 12)), ToString(finding.state),
                     Printable(finding.job.value), Printable(finding.title));
}

std::string TimedFindingLine(const Finding& finding, bool color) {
  const std::string time = LocalTimeText(finding.last_seen_ns);
  return (time.empty() ? "" : time + " ") + FindingLine(finding, color);
}

}  // namespace eroica
