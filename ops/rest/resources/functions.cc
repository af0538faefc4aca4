// /v1/jobs/{job}/functions: one function over the ranks and over time.
#include <cmath>

#include "ops/rest/problem.h"
#include "ops/rest/resources/answer.h"
#include "ops/rest/resources/function_columns.h"
#include "ops/rest/resources/job_lookup.h"
#include "ops/rest/resources/resource.h"
#include "ops/rest/resources/routes.h"

namespace eroica {
namespace {

constexpr size_t kIdDigits = 16;
Json Rounded(double value) { return static_cast<int64_t>(std::llround(value)); }

Json RowJson(const WindowDetail& detail, const FunctionSnapshot& function) {
  return {{"function", FunctionJson(function)},
          {"ranks", function.rank.size()},
          {"beta", SpreadJson(detail, function, kBetaMeasure)},
          {"call_ns", SpreadJson(detail, function, kCallMeasure)},
          {"critical_ns_per_step", SpreadJson(detail, function, kCriticalMeasure)}};
}

HttpResponse ListFunctions(const RestSources& sources, const HttpRequest& request,
                           Parameters& parameters) {
  const JobWindowParameters asked = ReadJobWindow(parameters);
  const Page page = ReadPage(parameters);
  if (auto refused = parameters.Refuse()) return *refused;
  const absl::StatusOr<ShownWindow> shown = FindShown(sources, asked);
  if (!shown.ok()) return Problem(shown.status(), request.target);
  const WindowDetail& detail = *shown->window->detail;
  std::vector<std::string> keys;
  for (const FunctionSnapshot& function : detail.functions)
    keys.push_back(HexOf(function.id.value));
  PageOfItems taken =
      TakePage(keys, page, [&](size_t place) { return RowJson(detail, detail.functions[place]); });
  return AnswerOf(*shown, {{"functions", std::move(taken.items)},
                           {"next_cursor", std::move(taken.next_cursor)}});
}

Json OverRanks(const WindowDetail& detail, const FunctionSnapshot& function) {
  Json rank = Json::array();
  Json role = Json::array();
  Json call_ns = Json::array();
  Json critical_ns = Json::array();
  Json role_critical_ns = Json::array();
  const std::vector<double> medians = MedianByRole(detail, function, kCriticalMeasure);
  for (size_t i = 0; i < function.rank.size(); ++i) {
    const RankRow& row = detail.ranks[function.rank[i]];
    rank.push_back(row.rank);
    role.push_back(row.role);
    call_ns.push_back(Rounded(function.call_ns[i]));
    critical_ns.push_back(Rounded(function.critical_ns_per_step[i]));
    role_critical_ns.push_back(Rounded(medians[row.role]));
  }
  return {{"rank", std::move(rank)},
          {"role", std::move(role)},
          {"beta", function.beta},
          {"mu", function.mu},
          {"sigma", function.sigma},
          {"count", function.count},
          {"call_ns", std::move(call_ns)},
          {"critical_ns_per_step", std::move(critical_ns)},
          {"role_critical_ns_per_step", std::move(role_critical_ns)}};
}

HttpResponse ShowFunction(const RestSources& sources, const HttpRequest& request,
                          Parameters& parameters) {
  const JobWindowParameters asked = ReadJobWindow(parameters);
  const uint64_t id = parameters.HexName("function", kIdDigits);
  if (auto refused = parameters.Refuse()) return *refused;
  const absl::StatusOr<ShownWindow> shown = FindShown(sources, asked);
  if (!shown.ok()) return Problem(shown.status(), request.target);
  const WindowDetail& detail = *shown->window->detail;
  const FunctionSnapshot* function = FindFunction(detail, id);
  if (function == nullptr)
    return Problem(ProblemType::kNotFound,
                   "the window holds no such function: /v1/jobs/JOB/functions lists those it has",
                   request.target);
  return AnswerOf(*shown,
                  {{"function", FunctionJson(*function)}, {"ranks", OverRanks(detail, *function)}});
}

// One window's numbers of a rank and of its peers, put at the end of their columns.
class HistoryColumns {
 public:
  void Append(const WindowSnapshot& window, const FunctionSnapshot* function, uint32_t rank) {
    window_.push_back(WindowName(window.summary));
    start_.push_back(TimeOfNs(window.summary.start_ns));
    std::optional<size_t> row;
    if (function != nullptr) row = RowOf(*window.detail, *function, rank);
    const auto append = [&](Json* own, Json* peers, const FunctionMeasure& measure, bool round) {
      const auto number = [round](double value) { return round ? Rounded(value) : Json(value); };
      own->push_back(row ? number((function->*measure.column)[*row]) : Json(nullptr));
      std::optional<double> median;
      if (row) median = PeersMedian(*window.detail, *function, measure, *row);
      peers->push_back(median ? number(*median) : Json(nullptr));
    };
    append(&beta_, &peers_beta_, kBetaMeasure, false);
    append(&call_, &peers_call_, kCallMeasure, true);
    append(&critical_, &peers_critical_, kCriticalMeasure, true);
  }

  Json Take() {
    return {{"window", std::move(window_)},
            {"start", std::move(start_)},
            {"beta", std::move(beta_)},
            {"peers_beta", std::move(peers_beta_)},
            {"call_ns", std::move(call_)},
            {"peers_call_ns", std::move(peers_call_)},
            {"critical_ns_per_step", std::move(critical_)},
            {"peers_critical_ns_per_step", std::move(peers_critical_)}};
  }

 private:
  Json window_ = Json::array();
  Json start_ = Json::array();
  Json beta_ = Json::array();
  Json peers_beta_ = Json::array();
  Json call_ = Json::array();
  Json peers_call_ = Json::array();
  Json critical_ = Json::array();
  Json peers_critical_ = Json::array();
};

HttpResponse ShowHistory(const RestSources& sources, const HttpRequest& request,
                         Parameters& parameters) {
  const std::string name = parameters.JobName();
  const uint64_t id = parameters.HexName("function", kIdDigits);
  const std::optional<int64_t> rank = parameters.OptionalInteger("rank", 0, kRankMax);
  parameters.Require(rank.has_value(), "rank");
  if (auto refused = parameters.Refuse()) return *refused;
  const auto job = FindBoardJob(sources, name);
  if (!job.ok()) return Problem(job.status(), request.target);
  HistoryColumns columns;
  Json described = nullptr;
  for (const auto& window : (*job)->windows) {
    if (window->detail == nullptr) continue;
    const FunctionSnapshot* function = FindFunction(*window->detail, id);
    if (function != nullptr) described = FunctionJson(*function);
    columns.Append(*window, function, static_cast<uint32_t>(*rank));
  }
  if (described.is_null())
    return Problem(ProblemType::kNotFound,
                   "no window that is held has such a function: /v1/jobs/JOB/functions lists them",
                   request.target);
  return AnswerOf(
      **job, {{"function", std::move(described)}, {"rank", *rank}, {"windows", columns.Take()}});
}

}  // namespace

void AddFunctionRoutes(Router& router, const RestSources& sources) {
  AddResource(router, sources, "/v1/jobs/{job}/functions", ListFunctions);
  AddResource(router, sources, "/v1/jobs/{job}/functions/{function}", ShowFunction);
  AddResource(router, sources, "/v1/jobs/{job}/functions/{function}/history", ShowHistory);
}

}  // namespace eroica
