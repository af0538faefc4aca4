#include "ops/cli/listed_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "diagnosis/report/duration_text.h"
#include "ops/cli/time_text.h"
#include "ops/cli/wrapped_text.h"
#include "ops/rest/json_fields.h"
#include "ops/rest/target.h"
#include "schemas/outside_time.h"
#include "schemas/printable_text.h"
#include "schemas/time_unit.h"
#include "schemas/window_name.h"

namespace eroica {
namespace {

using nlohmann::json;

constexpr size_t kJobsMost = 100'000;
constexpr size_t kJobPagesMost = 200;

std::string_view SeverityName(size_t severity) { return ToString(static_cast<Severity>(severity)); }

ListedJob Listed(const std::string& name, const KnownJob& known) {
  return {.name = name,
          .state = !known.diagnosed() ? "undiagnosed"
                   : known.ended      ? "ended"
                                      : "running",
          .world_size = known.world_size,
          .ranks_seen = known.ranks_seen,
          .newest_window = known.diagnosed()
                               ? WindowName(known.of_steps ? WindowKind::kSteps : WindowKind::kTime,
                                            known.last_window)
                               : std::string(),
          .watermark_ms = known.watermark_ms,
          .step_ns = known.step_ns,
          .open_findings = {}};
}

ListedJob FromJson(const json& job) {
  ListedJob listed{.name = TextIn(job, "job"),
                   .state = TextIn(job, "state"),
                   .world_size = CountIn<uint32_t>(job, "world_size"),
                   .ranks_seen = CountIn<uint32_t>(job, "ranks_seen"),
                   .newest_window = TextIn(job, "newest_window"),
                   .watermark_ms = ParseTimeMs(TextIn(job, "watermark"), 0).value_or(0),
                   .step_ns = NumberIn(job, "step_ns"),
                   .open_findings = {}};
  const json& open = MemberOf(job, "open_findings");
  for (size_t i = 0; i < listed.open_findings.size(); ++i)
    listed.open_findings[i] = CountIn<uint64_t>(open, std::string(SeverityName(i)));
  return listed;
}

std::string OpenText(const ListedJob& job) {
  std::string text;
  for (size_t i = job.open_findings.size(); i-- > 0;) {
    if (job.open_findings[i] > 0)
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : ", ", job.open_findings[i], SeverityName(i));
  }
  return text.empty() ? "-" : text;
}

std::string RanksText(const ListedJob& job) {
  if (job.world_size == 0) return "-";
  return job.ranks_seen == job.world_size ? fmt::format("{}", job.world_size)
                                          : fmt::format("{} of {}", job.ranks_seen, job.world_size);
}

}  // namespace

std::vector<ListedJob> ListJobs(const KnownJobs& known, std::span<const Finding> findings) {
  std::map<std::string, ListedJob> jobs;
  for (const auto& [name, job] : known.jobs) jobs.emplace(name, Listed(name, job));
  for (const Finding& finding : findings) {
    const auto [entry, added] = jobs.try_emplace(finding.job.value);
    ListedJob& job = entry->second;
    if (added) {
      job.name = finding.job.value;
      job.state = "forgotten";
    }
    if (job.state == "forgotten") {
      job.world_size = std::max(job.world_size, finding.world_size);
      job.ranks_seen = std::max(job.ranks_seen, finding.ranks_seen);
      job.watermark_ms = std::max(job.watermark_ms, finding.last_seen_ns / kNsPerMs);
    }
    if (finding.state != FindingState::kResolved)
      ++job.open_findings[static_cast<size_t>(finding.severity)];
  }
  std::vector<ListedJob> list;
  for (auto& [name, job] : jobs) list.push_back(std::move(job));
  return list;
}

absl::StatusOr<NodeJobs> ListJobs(const NodeClient& client) {
  NodeJobs found;
  std::string cursor;
  size_t pages = 0;  // one without jobs may name a next one for ever
  do {
    const absl::StatusOr<std::string> body = client.Get(
        "/v1/jobs?limit=1000" + (cursor.empty() ? "" : "&cursor=" + EncodeComponent(cursor)));
    if (!body.ok()) return body.status();
    const json page = ParseForeignJson(*body);
    const json& jobs = MemberOf(page, "jobs");
    if (!jobs.is_array())
      return absl::InvalidArgumentError(
          fmt::format("{} answers no list of jobs: is it a node?", client.url()));
    for (const json& job : jobs) found.jobs.push_back(FromJson(job));
    for (const json& node : MemberOf(page, "unreachable_nodes")) {
      if (node.is_string() && cursor.empty()) found.unreachable.push_back(node.get<std::string>());
    }
    cursor = TextIn(page, "next_cursor");
  } while (!cursor.empty() && found.jobs.size() < kJobsMost && ++pages < kJobPagesMost);
  return found;
}

void SortByGravity(std::vector<ListedJob>* jobs) {
  std::ranges::sort(*jobs, [](const ListedJob& a, const ListedJob& b) {
    if (a.open_findings != b.open_findings)
      return std::lexicographical_compare(b.open_findings.rbegin(), b.open_findings.rend(),
                                          a.open_findings.rbegin(), a.open_findings.rend());
    return a.name < b.name;
  });
}

std::string JobTable(std::span<const ListedJob> jobs, size_t width) {
  constexpr size_t kNameMin = 16;
  std::vector<std::vector<std::string>> rows = {
      {"state", "ranks", "window", "step", "open findings", "diagnosed up to"}};
  for (const ListedJob& job : jobs) {
    const std::string time = LocalTimeText(BoundedNsOfMs(job.watermark_ms));
    rows.push_back({Printable(job.state), RanksText(job),
                    job.newest_window.empty() ? "-" : Printable(job.newest_window),
                    job.step_ns > 0 ? DurationText(job.step_ns) : "-", OpenText(job),
                    time.empty() ? "-" : time});
  }
  size_t others = 0;
  for (size_t column = 0; column < rows[0].size(); ++column) {
    size_t widest = 0;
    for (const auto& row : rows) widest = std::max(widest, CharacterCount(row[column]));
    others += 2 + widest;
  }
  const size_t room = std::max(width > others ? width - others : 0, kNameMin);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i].insert(rows[i].begin(), i == 0 ? "job" : CutTo(Printable(jobs[i - 1].name), room));
  return AlignedColumns(rows, rows[0].size()) + "\n";
}

std::string ToJson(const ListedJob& job) {
  nlohmann::ordered_json open;
  for (size_t i = job.open_findings.size(); i-- > 0;)
    open[std::string(SeverityName(i))] = job.open_findings[i];
  const auto known = [](bool is_known, nlohmann::ordered_json value) {
    return is_known ? std::move(value) : nlohmann::ordered_json(nullptr);
  };
  const nlohmann::ordered_json object{
      {"job", job.name},
      {"state", job.state},
      {"world_size", job.world_size},
      {"ranks_seen", job.ranks_seen},
      {"newest_window", known(!job.newest_window.empty(), job.newest_window)},
      {"watermark", known(job.watermark_ms > 0, TimeText(job.watermark_ms))},
      {"step_ns", job.step_ns},
      {"open_findings", open}};
  return PrintableJson(
      object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace eroica
