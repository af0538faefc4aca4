// /v1/jobs and their windows.
#include <algorithm>
#include <array>

#include "ops/rest/problem.h"
#include "ops/rest/resources/answer.h"
#include "ops/rest/resources/job_lookup.h"
#include "ops/rest/resources/quality_json.h"
#include "ops/rest/resources/resource.h"
#include "ops/rest/resources/routes.h"

namespace eroica {
namespace {

using SeverityCounts = std::array<int64_t, kSeverityCount>;

Json StepOrNull(int64_t step) { return step >= 0 ? Json(step) : Json(nullptr); }

// Of the live findings of all jobs, those that are open.
std::map<std::string, SeverityCounts> CountOpen(const FindingIndex& findings) {
  std::map<std::string, SeverityCounts> counts;
  for (const FindingPtr& finding : findings.Select({.state = StateFilter::kOpen}))
    ++counts[finding->job][static_cast<size_t>(finding->severity)];
  return counts;
}

size_t DetailsOf(const BoardJob& job) {
  return static_cast<size_t>(std::ranges::count_if(
      job.windows, [](const auto& window) { return window->detail != nullptr; }));
}

Json JobJson(const BoardJob& job, const SeverityCounts& open) {
  const WindowSummary& newest = job.newest;
  return {{"job", job.job.value},
          {"state", newest.last_of_job ? "ended" : "running"},
          {"world_size", newest.world_size},
          {"ranks_seen", newest.ranks_seen},
          {"roles", newest.roles},
          {"window_kind", newest.kind == WindowKind::kSteps ? "steps" : "time"},
          {"newest_window", WindowName(newest)},
          {"watermark", TimeOfMs(newest.timestamp_ms)},
          {"diagnosed_at",
           job.diagnosed_at_ns > 0 ? Json(TimeOfNs(job.diagnosed_at_ns)) : Json(nullptr)},
          {"step_ns", newest.median_step_ns},
          {"suppressed_steps", newest.suppressed.all()},
          {"data_quality", QualityJson(newest.completeness)},
          {"windows_held", DetailsOf(job)},
          {"open_findings",
           {{"critical", open[static_cast<size_t>(Severity::kCritical)]},
            {"major", open[static_cast<size_t>(Severity::kMajor)]},
            {"minor", open[static_cast<size_t>(Severity::kMinor)]},
            {"info", open[static_cast<size_t>(Severity::kInfo)]}}}};
}

Json WindowJson(const WindowSnapshot& window) {
  const WindowSummary& summary = window.summary;
  return {{"window", WindowName(summary)},
          {"kind", summary.kind == WindowKind::kSteps ? "steps" : "time"},
          {"index", summary.index},
          {"first_step", StepOrNull(summary.first_step)},
          {"last_step", StepOrNull(summary.last_step)},
          {"start", TimeOfNs(summary.start_ns)},
          {"end", TimeOfNs(summary.end_ns)},
          {"world_size", summary.world_size},
          {"ranks_seen", summary.ranks_seen},
          {"ranks_silent", summary.ranks_silent},
          {"step_ns",
           {{"median", summary.median_step_ns},
            {"max", summary.max_step_ns},
            {"max_rank", summary.max_step_rank ? Json(*summary.max_step_rank) : Json(nullptr)}}},
          {"data_quality", QualityJson(summary.completeness)},
          {"suppressed_steps", summary.suppressed.all()},
          {"functions", window.detail == nullptr ? 0 : summary.functions},
          {"functions_dropped", summary.functions_dropped},
          {"findings", summary.finding_ids}};
}

HttpResponse ListJobs(const RestSources& sources, const HttpRequest&, Parameters& parameters) {
  const std::optional<size_t> state = parameters.Choice("state", {"running", "ended"});
  const Page page = ReadPage(parameters);
  if (auto refused = parameters.Refuse()) return *refused;
  const std::map<std::string, SeverityCounts> open = CountOpen(*sources.findings);
  const auto counts_of = [&open](const BoardJob& job) {
    const auto counts = open.find(job.job.value);
    return counts == open.end() ? SeverityCounts{} : counts->second;
  };
  std::vector<std::shared_ptr<const BoardJob>> jobs = sources.board->Jobs();
  int64_t watermark_ms = 0;
  for (const auto& job : jobs) watermark_ms = std::max(watermark_ms, job->newest.timestamp_ms);
  if (state) {
    std::erase_if(jobs, [&](const auto& job) { return job->newest.last_of_job != (*state == 1); });
  }
  std::ranges::stable_sort(jobs, [&](const auto& a, const auto& b) {
    const SeverityCounts of_a = counts_of(*a);
    const SeverityCounts of_b = counts_of(*b);
    return std::lexicographical_compare(of_b.rbegin(), of_b.rend(), of_a.rbegin(), of_a.rend());
  });
  std::vector<std::string> keys;
  for (const auto& job : jobs) keys.push_back(job->job.value);
  PageOfItems taken = TakePage(
      keys, page, [&](size_t place) { return JobJson(*jobs[place], counts_of(*jobs[place])); });
  return Answer({{"as_of", AsOf(watermark_ms, sources.node().tasks_restoring() == 0)},
                 {"jobs", std::move(taken.items)},
                 {"next_cursor", std::move(taken.next_cursor)},
                 {"unreachable_nodes", Json::array()}});
}

HttpResponse ShowJob(const RestSources& sources, const HttpRequest& request,
                     Parameters& parameters) {
  const std::string name = parameters.JobName();
  if (auto refused = parameters.Refuse()) return *refused;
  const auto job = FindBoardJob(sources, name);
  if (!job.ok()) return Problem(job.status(), request.target);
  const std::map<std::string, SeverityCounts> open = CountOpen(*sources.findings);
  const auto counts = open.find(name);
  return Answer(
      {{"as_of", AsOf((*job)->newest.timestamp_ms, true)},
       {"job", JobJson(**job, counts == open.end() ? SeverityCounts{} : counts->second)}});
}

HttpResponse ListWindows(const RestSources& sources, const HttpRequest& request,
                         Parameters& parameters) {
  const std::string name = parameters.JobName();
  const Page page = ReadPage(parameters);
  if (auto refused = parameters.Refuse()) return *refused;
  const auto job = FindBoardJob(sources, name);
  if (!job.ok()) return Problem(job.status(), request.target);
  std::vector<std::shared_ptr<const WindowSnapshot>> windows = (*job)->windows;
  std::ranges::reverse(windows);
  std::vector<std::string> keys;
  for (const auto& window : windows) keys.push_back(WindowName(window->summary));
  PageOfItems taken =
      TakePage(keys, page, [&](size_t place) { return WindowJson(*windows[place]); });
  return Answer({{"as_of", AsOf((*job)->newest.timestamp_ms, true)},
                 {"windows", std::move(taken.items)},
                 {"next_cursor", std::move(taken.next_cursor)}});
}

HttpResponse ShowWindow(const RestSources& sources, const HttpRequest& request,
                        Parameters& parameters) {
  const std::string name = parameters.JobName();
  const std::string window_name = parameters.Name("window");
  if (auto refused = parameters.Refuse()) return *refused;
  const auto job = FindBoardJob(sources, name);
  if (!job.ok()) return Problem(job.status(), request.target);
  const auto window = FindSnapshot(**job, window_name);
  if (!window.ok()) return Problem(window.status(), request.target);
  return Answer(
      {{"as_of", AsOf((*job)->newest.timestamp_ms, true)}, {"window", WindowJson(**window)}});
}

}  // namespace

void AddJobRoutes(Router& router, const RestSources& sources) {
  AddResource(router, sources, "/v1/jobs", ListJobs);
  AddResource(router, sources, "/v1/jobs/{job}", ShowJob);
  AddResource(router, sources, "/v1/jobs/{job}/windows", ListWindows);
  AddResource(router, sources, "/v1/jobs/{job}/windows/{window}", ShowWindow);
}

}  // namespace eroica
