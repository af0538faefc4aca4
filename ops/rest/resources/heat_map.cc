// /v1/jobs/{job}/heatmap: functions by ranks, in whole numbers, so that a job of 10,000 ranks fits
// into a page.
#include <cmath>

#include "ops/rest/problem.h"
#include "ops/rest/resources/answer.h"
#include "ops/rest/resources/function_columns.h"
#include "ops/rest/resources/job_lookup.h"
#include "ops/rest/resources/resource.h"
#include "ops/rest/resources/routes.h"

namespace eroica {
namespace {

enum class Metric : uint8_t { kExcess = 0, kCritical = 1, kBeta = 2 };

constexpr std::string_view UnitOf(Metric metric) {
  return metric == Metric::kBeta ? "thousandths of the window" : "microseconds a step";
}

// A value for every rank of the window.
Json ValuesOf(const WindowDetail& detail, const FunctionSnapshot& function, Metric metric) {
  constexpr double kNsPerMicrosecond = 1'000;
  constexpr double kThousandths = 1'000;
  std::vector<double> medians;
  if (metric == Metric::kExcess) medians = MedianByRole(detail, function, kCriticalMeasure);
  std::vector<Json> values(detail.ranks.size());
  for (size_t i = 0; i < function.rank.size(); ++i) {
    double value = function.critical_ns_per_step[i] / kNsPerMicrosecond;
    if (metric == Metric::kExcess)
      value -= medians[detail.ranks[function.rank[i]].role] / kNsPerMicrosecond;
    if (metric == Metric::kBeta) value = function.beta[i] * kThousandths;
    values[function.rank[i]] = static_cast<int64_t>(std::llround(value));
  }
  return values;
}

HttpResponse ShowHeatMap(const RestSources& sources, const HttpRequest& request,
                         Parameters& parameters) {
  const JobWindowParameters asked = ReadJobWindow(parameters);
  const std::vector<std::string> metrics = {"excess", "critical", "beta"};
  const size_t metric = parameters.Choice("metric", metrics).value_or(0);
  const auto functions = static_cast<size_t>(parameters.Integer("functions", 32, 1, 100));
  if (auto refused = parameters.Refuse()) return *refused;
  const absl::StatusOr<ShownWindow> shown = FindShown(sources, asked);
  if (!shown.ok()) return Problem(shown.status(), request.target);
  const WindowDetail& detail = *shown->window->detail;
  Json ranks = Json::array();
  Json roles = Json::array();
  Json hosts = Json::array();
  for (const RankRow& rank : detail.ranks) {
    ranks.push_back(rank.rank);
    roles.push_back(rank.role);
    hosts.push_back(detail.hosts[rank.host]);
  }
  Json rows = Json::array();
  Json values = Json::array();
  for (const FunctionSnapshot& function : detail.functions) {
    if (rows.size() == functions) break;
    rows.push_back(FunctionJson(function));
    values.push_back(ValuesOf(detail, function, static_cast<Metric>(metric)));
  }
  return AnswerOf(*shown, {{"metric", metrics[metric]},
                           {"unit", UnitOf(static_cast<Metric>(metric))},
                           {"ranks", std::move(ranks)},
                           {"roles", std::move(roles)},
                           {"hosts", std::move(hosts)},
                           {"functions", std::move(rows)},
                           {"values", std::move(values)}});
}

}  // namespace

void AddHeatMapRoutes(Router& router, const RestSources& sources) {
  AddResource(router, sources, "/v1/jobs/{job}/heatmap", ShowHeatMap);
}

}  // namespace eroica
