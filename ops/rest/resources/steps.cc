// /v1/jobs/{job}/steps: the step times of the windows that are held, and the findings to mark in
// their chart.
#include "ops/rest/problem.h"
#include "ops/rest/resources/answer.h"
#include "ops/rest/resources/job_lookup.h"
#include "ops/rest/resources/resource.h"
#include "ops/rest/resources/routes.h"

namespace eroica {
namespace {

constexpr size_t kStepsMax = 20'000;  // the newest: more than a chart shows

// Columns that several windows are put behind each other in.
struct StepSeries {
  Json step = Json::array();
  Json window = Json::array();
  Json median_ns = Json::array();
  Json max_ns = Json::array();
  Json busy_median_ns = Json::array();
  Json busy_max_ns = Json::array();
  Json busiest_rank = Json::array();

  void Append(const WindowSnapshot& snapshot) {
    const StepColumns& steps = snapshot.steps;
    const std::string name = WindowName(snapshot.summary);
    for (size_t i = 0; i < steps.step.size(); ++i) {
      step.push_back(steps.step[i]);
      window.push_back(name);
      median_ns.push_back(steps.median_ns[i]);
      max_ns.push_back(steps.max_ns[i]);
      busy_median_ns.push_back(steps.busy_median_ns[i]);
      busy_max_ns.push_back(steps.busy_max_ns[i]);
      busiest_rank.push_back(steps.busiest_rank[i]);
    }
  }
};

Json FindingMarks(const RestSources& sources, const std::string& job) {
  Json marks = Json::array();
  for (const FindingPtr& finding : sources.findings->Select({.job = job})) {
    if (finding->first_step < 0) continue;
    marks.push_back({{"id", finding->id},
                     {"severity", ToString(finding->severity)},
                     {"state", ToString(finding->state)},
                     {"title", finding->title},
                     {"first_step", finding->first_step},
                     {"last_step", finding->last_step}});
  }
  return marks;
}

HttpResponse ShowSteps(const RestSources& sources, const HttpRequest& request,
                       Parameters& parameters) {
  const std::string name = parameters.JobName();
  if (auto refused = parameters.Refuse()) return *refused;
  const auto job = FindBoardJob(sources, name);
  if (!job.ok()) return Problem(job.status(), request.target);
  // From the newest window back, as many as there is room for.
  const auto& windows = (*job)->windows;
  size_t steps = 0;
  auto first = windows.end();
  while (first != windows.begin() && steps + (*std::prev(first))->steps.step.size() <= kStepsMax)
    steps += (*--first)->steps.step.size();
  StepSeries series;
  for (auto window = first; window != windows.end(); ++window) series.Append(**window);
  return AnswerOf(**job, {{"steps",
                           {{"step", std::move(series.step)},
                            {"window", std::move(series.window)},
                            {"median_ns", std::move(series.median_ns)},
                            {"max_ns", std::move(series.max_ns)},
                            {"busy_median_ns", std::move(series.busy_median_ns)},
                            {"busy_max_ns", std::move(series.busy_max_ns)},
                            {"busiest_rank", std::move(series.busiest_rank)}}},
                          {"findings", FindingMarks(sources, name)}});
}

}  // namespace

void AddStepRoutes(Router& router, const RestSources& sources) {
  AddResource(router, sources, "/v1/jobs/{job}/steps", ShowSteps);
}

}  // namespace eroica
