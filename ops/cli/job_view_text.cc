#include "ops/cli/job_view_text.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "diagnosis/report/duration_text.h"
#include "ops/cli/finding_text.h"
#include "ops/cli/time_text.h"
#include "ops/cli/wrapped_text.h"
#include "schemas/outside_time.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

using Lines = std::vector<std::string>;

std::string Heading(const JobView& view) {
  const ListedJob& job = view.job;
  std::string text = fmt::format("job {}  {}  {} of {} ranks", Printable(job.name),
                                 Printable(job.state), job.ranks_seen, job.world_size);
  if (!job.newest_window.empty()) text += fmt::format("  window {}", Printable(job.newest_window));
  const std::string time = LocalTimeText(BoundedNsOfMs(job.watermark_ms));
  if (!time.empty()) text += fmt::format("  diagnosed to {}", time);
  if (view.other_jobs > 0)
    text +=
        fmt::format("  ({} more job{}: --job)", view.other_jobs, view.other_jobs == 1 ? "" : "s");
  return text;
}

// One character a step, as high as its duration between the shortest and the longest.
std::string StepLine(const std::vector<ViewedStep>& steps, size_t columns, bool utf8) {
  static constexpr std::string_view kBlocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                                 "\u2585", "\u2586", "\u2587", "\u2588"};
  static constexpr std::string_view kPlain[] = {"_", ".", "-", "=", "+", "*", "%", "#"};
  const size_t count = std::min(steps.size(), columns);
  if (count == 0) return "";
  const auto shown =
      std::vector<ViewedStep>(steps.end() - static_cast<ptrdiff_t>(count), steps.end());
  const auto [least, most] = std::ranges::minmax(shown, {}, &ViewedStep::median_ns);
  const double span = most.median_ns - least.median_ns;
  std::string line;
  for (const ViewedStep& step : shown) {
    const double share = span > 0 ? (step.median_ns - least.median_ns) / span : 0;
    const auto level = static_cast<size_t>(std::lround(share * 7));
    line += utf8 ? kBlocks[level] : kPlain[level];
  }
  return line;
}

Lines StepSection(const JobView& view, const JobViewTextOptions& options) {
  if (view.steps.empty()) return {"no steps are known yet"};
  const ViewedStep& newest = view.steps.back();
  Lines lines = {fmt::format("step {}: {}, busy {}; longest busy: rank {}, {}", newest.step,
                             DurationText(newest.median_ns), DurationText(newest.busy_median_ns),
                             newest.busiest_rank, DurationText(newest.busy_max_ns))};
  lines.push_back(StepLine(view.steps, options.size.columns, options.utf8));
  return lines;
}

// The first lines of a list.
void AddSection(const std::string& title, const Lines& list, size_t room, size_t columns,
                Lines* lines) {
  lines->emplace_back();
  lines->push_back(CutTo(title, columns));
  const auto shown = static_cast<ptrdiff_t>(std::min(list.size(), room));
  lines->insert(lines->end(), list.begin(), list.begin() + shown);
}

Lines FindingLines(const JobView& view, const JobViewTextOptions& options) {
  Lines lines;
  for (const ViewedFinding& finding : view.findings) {
    const std::string severity = fmt::format("[{}]", ToString(finding.severity));
    std::string line = CutTo(severity + " " + Printable(finding.title), options.size.columns);
    if (line.starts_with(severity))
      line.replace(0, severity.size(), Colored(severity, finding.severity, options.color));
    lines.push_back(std::move(line));
  }
  return lines;
}

// A heading, then a line a rank.
Lines RankLines(const JobView& view, size_t columns) {
  constexpr size_t kHostColumns = 24;
  std::vector<std::vector<std::string>> rows = {
      {"rank", "host", "busy", "peers", "excess", "waits", "step"}};
  for (const ViewedRank& rank : view.deviating) {
    const std::string number = fmt::format("{}", rank.rank);
    const std::string host = CutTo(Printable(rank.host), kHostColumns);
    if (rank.silent) {
      rows.push_back({number, host, "silent", "", "", "", ""});
    } else {
      rows.push_back(
          {number, host, DurationText(rank.busy_ns), DurationText(rank.peers_busy_ns),
           fmt::format("{}{} ({})", rank.excess_ns > 0 ? "+" : "", DurationText(rank.excess_ns),
                       PercentText(rank.excess_ns / rank.peers_busy_ns)),
           DurationText(rank.wait_ns), DurationText(rank.step_ns)});
    }
  }
  if (rows.size() == 1) return {};
  Lines lines = absl::StrSplit(AlignedColumns(rows, 2), '\n');
  for (std::string& line : lines) line = CutTo(line, columns);
  return lines;
}

Lines WaitLines(const JobView& view, size_t columns) {
  Lines lines;
  for (const ViewedWait& wait : view.waits)
    lines.push_back(CutTo(
        fmt::format("rank {} for rank {}: {}{}", wait.waiting, wait.waited_for,
                    DurationText(wait.wait_ns), wait.point_to_point ? " (send or receive)" : ""),
        columns));
  return lines;
}

// Each commit of a stage that writes exactly once is a transaction, too: those that are short are
// left out, as the node's log and health do (KafkaTransactionWatch, NodeHealth).
Lines HeldLines(const JobView& view) {
  constexpr uint64_t kShortSeconds = 30;
  Lines lines;
  for (const ViewedHold& hold : view.held) {
    if (hold.seconds < kShortSeconds) continue;
    lines.push_back(fmt::format(
        "Held back: {} record{} of stage {}, by a transaction open for {} s; the log names it",
        hold.records, hold.records == 1 ? "" : "s", Printable(hold.stage), hold.seconds));
  }
  return lines;
}

std::string FindingsTitle(const JobView& view, size_t shown) {
  if (view.findings_open == 0) return "No open finding";
  return shown < view.findings_open
             ? fmt::format("Open findings ({} of {} shown)", shown, view.findings_open)
             : std::string("Open findings");
}

std::string RanksTitle(const JobView& view) {
  if (view.ranks_shown == 0) return "No window of the job is in the node's memory yet";
  const std::string share = PercentText(JobView::kDeviates);
  if (view.ranks_deviating == 0)
    return fmt::format("No rank of {} differs from its peers by more than {}", view.ranks_shown,
                       share);
  return fmt::format("Ranks that differ from their peers by more than {}: {} of {}", share,
                     view.ranks_deviating, view.ranks_shown);
}

}  // namespace

std::vector<std::string> JobViewText(const JobView& view, const std::string& note,
                                     const JobViewTextOptions& options) {
  const size_t columns = options.size.columns;
  Lines lines = {CutTo("eroica top  " + Printable(note), columns)};
  const auto within_rows = [&options](Lines drawn) {
    if (drawn.size() > options.size.rows) drawn.resize(options.size.rows);
    return drawn;
  };
  for (const std::string& line : HeldLines(view)) lines.push_back(CutTo(line, columns));
  if (view.job.name.empty()) {
    lines.push_back(CutTo("No job yet: the node has diagnosed no window of any.", columns));
    return within_rows(std::move(lines));
  }
  lines.push_back(CutTo(Heading(view), columns));
  for (const std::string& line : StepSection(view, options)) lines.push_back(CutTo(line, columns));
  const Lines findings = FindingLines(view, options);
  const Lines ranks = RankLines(view, columns);
  const Lines waits = WaitLines(view, columns);
  // Each list has a blank line and a title; findings come first, then ranks; waits have the rest.
  constexpr size_t kLists = 3;
  const size_t used = lines.size() + 2 * kLists;
  const size_t room = options.size.rows > used ? options.size.rows - used : 0;
  const size_t for_findings = std::min(findings.size(), std::max<size_t>(1, room * 2 / 5));
  const size_t left = room > for_findings ? room - for_findings : 0;
  const size_t for_ranks = std::min(ranks.size(), std::max<size_t>(2, left * 2 / 3));
  const size_t for_waits = left > for_ranks ? left - for_ranks : 0;
  AddSection(FindingsTitle(view, for_findings), findings, for_findings, columns, &lines);
  AddSection(RanksTitle(view), ranks, for_ranks, columns, &lines);
  if (!waits.empty()) AddSection("Waits of the newest window", waits, for_waits, columns, &lines);
  return within_rows(std::move(lines));
}

}  // namespace eroica
