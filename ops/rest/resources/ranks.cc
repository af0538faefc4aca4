// /v1/jobs/{job}/ranks: ranks beside their peers.
#include <algorithm>
#include <cmath>

#include "ops/rest/problem.h"
#include "ops/rest/resources/answer.h"
#include "ops/rest/resources/function_columns.h"
#include "ops/rest/resources/job_lookup.h"
#include "ops/rest/resources/quality_json.h"
#include "ops/rest/resources/resource.h"
#include "ops/rest/resources/routes.h"

namespace eroica {
namespace {

constexpr size_t kHostBytesMax = 1'024;
constexpr size_t kFunctionsMax = 200;

Json RankJson(const WindowDetail& detail, const RankRow& rank) {
  return {{"rank", rank.rank},
          {"role", rank.role},
          {"role_name", detail.role_names[rank.role_name]},
          {"host", detail.hosts[rank.host]},
          {"device", rank.device >= 0 ? Json(rank.device) : Json(nullptr)},
          {"pid", rank.pid},
          {"silent", rank.silent},
          {"steps", rank.steps},
          {"step_ns", rank.step_ns},
          {"busy_ns", rank.busy_ns},
          {"wait_ns", rank.wait_ns},
          {"peers_busy_ns", rank.peers_busy_ns},
          {"excess_ns", rank.excess_ns},
          {"data_quality", QualityJson(rank.completeness)}};
}

const RankRow* FindRank(const WindowDetail& detail, uint32_t number) {
  const auto rank = std::ranges::lower_bound(detail.ranks, number, {}, &RankRow::rank);
  return rank == detail.ranks.end() || rank->rank != number ? nullptr : &*rank;
}

HttpResponse ListRanks(const RestSources& sources, const HttpRequest& request,
                       Parameters& parameters) {
  const JobWindowParameters asked = ReadJobWindow(parameters);
  const std::optional<std::string> host = parameters.Text("host", kHostBytesMax);
  const Page page = ReadPage(parameters);
  if (auto refused = parameters.Refuse()) return *refused;
  const absl::StatusOr<ShownWindow> shown = FindShown(sources, asked);
  if (!shown.ok()) return Problem(shown.status(), request.target);
  const WindowDetail& detail = *shown->window->detail;
  std::vector<const RankRow*> ranks;
  std::vector<std::string> keys;
  for (const RankRow& rank : detail.ranks) {
    if (host && detail.hosts[rank.host] != *host) continue;
    ranks.push_back(&rank);
    keys.push_back(std::to_string(rank.rank));
  }
  PageOfItems taken =
      TakePage(keys, page, [&](size_t place) { return RankJson(detail, *ranks[place]); });
  return AnswerOf(
      *shown, {{"ranks", std::move(taken.items)}, {"next_cursor", std::move(taken.next_cursor)}});
}

Json FunctionsOf(const WindowDetail& detail, uint32_t rank) {
  struct Own {
    const FunctionSnapshot* function;
    size_t row;
    float critical_ns() const { return function->critical_ns_per_step[row]; }
  };
  std::vector<Own> own;
  for (const FunctionSnapshot& function : detail.functions) {
    if (const auto row = RowOf(detail, function, rank))
      own.push_back({.function = &function, .row = *row});
  }
  std::ranges::stable_sort(own, std::greater<>(), &Own::critical_ns);
  if (own.size() > kFunctionsMax) own.resize(kFunctionsMax);
  Json functions = Json::array();
  for (const auto& [function, row] : own) {
    const auto peers = [&](const FunctionMeasure& measure) {
      const std::optional<double> median = PeersMedian(detail, *function, measure, row);
      return median ? Json(*median) : Json(nullptr);
    };
    functions.push_back(
        {{"function", FunctionJson(*function)},
         {"beta", function->beta[row]},
         {"mu", function->mu[row]},
         {"sigma", function->sigma[row]},
         {"count", function->count[row]},
         {"call_ns", std::llround(function->call_ns[row])},
         {"critical_ns_per_step", std::llround(function->critical_ns_per_step[row])},
         {"peers_critical_ns_per_step", peers(kCriticalMeasure)},
         {"peers_critical_at_most_ns_per_step", peers(kCriticalAtMostMeasure)},
         {"peers_call_ns", peers(kCallMeasure)}});
  }
  return functions;
}

Json ResourcesOf(const RankRow& rank) {
  Json resources = Json::array();
  for (const ResourceLevel& level : rank.levels) {
    resources.push_back({{"resource", ToString(level.resource)},
                         {"mean", level.mean},
                         {"max", level.max},
                         {"samples", level.samples}});
  }
  return resources;
}

Json CommunicatorsOf(const WindowDetail& detail, uint32_t rank) {
  Json ids = Json::array();
  for (const CommunicatorSnapshot& communicator : detail.communicators) {
    const auto member = std::ranges::lower_bound(communicator.members, rank, {}, &MemberRow::rank);
    if (member != communicator.members.end() && member->rank == rank)
      ids.push_back(HexOf(communicator.id.value));
  }
  return ids;
}

Json HistoryOf(const BoardJob& job, uint32_t number) {
  Json window = Json::array();
  Json busy = Json::array();
  Json peers = Json::array();
  for (const auto& held : job.windows) {
    if (held->detail == nullptr) continue;
    const RankRow* rank = FindRank(*held->detail, number);
    const bool stepped = rank != nullptr && rank->steps > 0;
    window.push_back(WindowName(held->summary));
    busy.push_back(stepped ? Json(rank->busy_ns) : Json(nullptr));
    peers.push_back(stepped && rank->peers_busy_ns > 0 ? Json(rank->peers_busy_ns) : Json(nullptr));
  }
  return {{"window", std::move(window)},
          {"busy_ns", std::move(busy)},
          {"peers_busy_ns", std::move(peers)}};
}

HttpResponse ShowRank(const RestSources& sources, const HttpRequest& request,
                      Parameters& parameters) {
  const JobWindowParameters asked = ReadJobWindow(parameters);
  const auto number = static_cast<uint32_t>(parameters.IntegerName("rank", kRankMax));
  if (auto refused = parameters.Refuse()) return *refused;
  const absl::StatusOr<ShownWindow> shown = FindShown(sources, asked);
  if (!shown.ok()) return Problem(shown.status(), request.target);
  const WindowDetail& detail = *shown->window->detail;
  const RankRow* rank = FindRank(detail, number);
  if (rank == nullptr)
    return Problem(ProblemType::kNotFound, "the window holds no such rank", request.target);
  return AnswerOf(*shown, {{"rank", RankJson(detail, *rank)},
                           {"resources", ResourcesOf(*rank)},
                           {"functions", FunctionsOf(detail, number)},
                           {"communicators", CommunicatorsOf(detail, number)},
                           {"history", HistoryOf(*shown->job, number)}});
}

}  // namespace

void AddRankRoutes(Router& router, const RestSources& sources) {
  AddResource(router, sources, "/v1/jobs/{job}/ranks", ListRanks);
  AddResource(router, sources, "/v1/jobs/{job}/ranks/{rank}", ShowRank);
}

}  // namespace eroica
