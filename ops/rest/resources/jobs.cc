// /v1/jobs and their windows.
#include <algorithm>
#include <array>

#include "ops/rest/json_fields.h"
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

// The jobs of all nodes that answered, each once, with the findings that this node knows of all.
class JobList {
 public:
  explicit JobList(const RestSources& sources) : open_(CountOpen(*sources.findings)) {
    for (const auto& job : sources.board->Jobs())
      Add(job->job.value, JobJson(*job, CountsOf(job->job.value)));
  }

  void Add(const std::string& name, Json job) {
    watermark_ = std::max(watermark_, job["watermark"].get<std::string>());
    jobs_.try_emplace(name, std::move(job));
  }
  // What another node answered; false where it is no list of jobs.
  bool AddOthers(const std::string& body) {
    const Json list = ParseForeignJson<Json>(body);
    if (!list.is_object() || !list.contains("jobs") || !list["jobs"].is_array()) return false;
    for (const Json& job : list["jobs"]) {
      const auto is_text = [&](const char* name) {
        return job.is_object() && job.contains(name) && job[name].is_string();
      };
      if (!is_text("job") || !is_text("watermark") || !is_text("state")) return false;
      Add(job["job"].get<std::string>(), job);
    }
    return true;
  }
  SeverityCounts CountsOf(const std::string& job) const {
    const auto counts = open_.find(job);
    return counts == open_.end() ? SeverityCounts{} : counts->second;
  }
  // The most severe first, then by name; those of the state, or all where it is empty.
  std::vector<std::string> Names(std::string_view state) const {
    std::vector<std::string> names;
    for (const auto& [name, job] : jobs_) {
      if (state.empty() || job["state"].get_ref<const std::string&>() == state)
        names.push_back(name);
    }
    std::ranges::stable_sort(names, [&](const std::string& a, const std::string& b) {
      const SeverityCounts of_a = CountsOf(a);
      const SeverityCounts of_b = CountsOf(b);
      return std::lexicographical_compare(of_b.rbegin(), of_b.rend(), of_a.rbegin(), of_a.rend());
    });
    return names;
  }
  const Json& Find(const std::string& name) const { return jobs_.at(name); }
  Json Watermark() const { return watermark_.empty() ? Json(nullptr) : Json(watermark_); }

 private:
  const std::map<std::string, SeverityCounts> open_;
  std::map<std::string, Json> jobs_;  // by name
  std::string watermark_;             // the newest; RFC 3339 in UTC, which sorts by time
};

HttpResponse ListJobs(const RestSources& sources, const HttpRequest& request,
                      Parameters& parameters) {
  const std::vector<std::string> states = {"running", "ended"};
  const std::optional<size_t> state = parameters.Choice("state", states);
  const Page page = ReadPage(parameters);
  if (auto refused = parameters.Refuse()) return *refused;
  JobList jobs(sources);
  Json unreachable = Json::array();
  for (const OthersAnswer& other : request.others) {
    if (!other.body || !jobs.AddOthers(*other.body)) unreachable.push_back(other.node);
  }
  const std::vector<std::string> names = jobs.Names(state ? states[*state] : "");
  PageOfItems taken = TakePage(names, page, [&](size_t place) { return jobs.Find(names[place]); });
  const bool complete = sources.node().tasks_restoring() == 0 && unreachable.empty();
  return Answer({{"as_of", {{"watermark", jobs.Watermark()}, {"complete", complete}}},
                 {"jobs", std::move(taken.items)},
                 {"next_cursor", std::move(taken.next_cursor)},
                 {"unreachable_nodes", std::move(unreachable)}});
}

HttpResponse ShowJob(const RestSources& sources, const HttpRequest& request,
                     Parameters& parameters) {
  const std::string name = parameters.JobName();
  if (auto refused = parameters.Refuse()) return *refused;
  const auto job = FindBoardJob(sources, name);
  if (!job.ok()) return Problem(job.status(), request.target);
  const std::map<std::string, SeverityCounts> open = CountOpen(*sources.findings);
  const auto counts = open.find(name);
  return AnswerOf(
      **job, {{"job", JobJson(**job, counts == open.end() ? SeverityCounts{} : counts->second)}});
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
  return AnswerOf(
      **job, {{"windows", std::move(taken.items)}, {"next_cursor", std::move(taken.next_cursor)}});
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
  return AnswerOf(**job, {{"window", WindowJson(**window)}});
}

}  // namespace

void AddJobRoutes(Router& router, const RestSources& sources) {
  AddResource(router, sources, "/v1/jobs", ListJobs);
  AddResource(router, sources, "/v1/jobs/{job}", ShowJob);
  AddResource(router, sources, "/v1/jobs/{job}/windows", ListWindows);
  AddResource(router, sources, "/v1/jobs/{job}/windows/{window}", ShowWindow);
}

}  // namespace eroica
