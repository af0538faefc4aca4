#include "ops/rest/service.h"

#include <absl/strings/match.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <utility>

#include "ops/rest/gzip_text.h"
#include "ops/rest/problem.h"
#include "ops/rest/resources/routes.h"

namespace eroica {
namespace {

// Below, gzip saves less than a packet.
constexpr size_t kGzipFrom = 1'200;

bool IsJson(const std::string& content_type) {
  return absl::EqualsIgnoreCase(content_type.substr(0, content_type.find(';')),
                                absl::string_view(kJsonType.data(), kJsonType.size()));
}

HttpResponse NoRoute(const Router::Match& match, const RestSources& sources,
                     const std::string& target) {
  if (match.allowed.empty())
    return Problem(ProblemType::kNotFound,
                   sources.board == nullptr
                       ? "there is no such path; there are /healthz and /metrics"
                       : "there is no such path; /openapi.json describes those that there are",
                   target);
  HttpResponse refused = Problem(ProblemType::kMethodNotAllowed,
                                 fmt::format("the path takes {}", match.allowed), target);
  refused.Add("Allow", match.allowed);
  return refused;
}

}  // namespace

std::shared_ptr<const CachedResponse> Finish(HttpResponse response) {
  auto finished = std::make_shared<CachedResponse>();
  if (response.body != nullptr) {
    if (response.status == 200)
      finished->etag =
          fmt::format("\"{:016x}\"", XXH3_64bits(response.body->data(), response.body->size()));
    if (response.body->size() >= kGzipFrom)
      finished->gzip = std::make_shared<const std::string>(Gzip(*response.body));
  }
  finished->response = std::move(response);
  return finished;
}

RestService::RestService(const RestSources& sources, GateOptions gate, RestResources resources)
    : sources_(sources), gate_(std::move(gate)) {
  AddProcessRoutes(router_, sources_);
  if (resources == RestResources::kProcess) return;
  AddDashboardRoutes(router_);
  AddStatusRoutes(router_, sources_);
  AddJobRoutes(router_, sources_);
  AddStepRoutes(router_, sources_);
  AddFunctionRoutes(router_, sources_);
  AddHeatMapRoutes(router_, sources_);
  AddRankRoutes(router_, sources_);
  AddCommunicatorRoutes(router_, sources_);
  AddLinkRoutes(router_, sources_);
  AddFindingRoutes(router_, sources_);
  AddControlRoutes(router_, sources_);
  AddReplayRoutes(router_, sources_);
}

uint64_t RestService::Version() const {
  if (sources_.board == nullptr) return 0;
  return sources_.board->version() + sources_.findings->version();
}

std::shared_ptr<const CachedResponse> RestService::Prepare(
    Arrived arrived, std::chrono::steady_clock::time_point now, PreparedRequest* prepared) {
  HttpRequest& request = arrived.request;
  if (auto refused = gate_.RefuseArrival(
          {.address = arrived.address, .host = arrived.host, .target = request.target}, now))
    return Finish(*std::move(refused));
  if (request.target.size() > kTargetBytesMax)
    return Finish(Problem(ProblemType::kTargetTooLong,
                          fmt::format("the target has more than {} bytes", kTargetBytesMax), ""));
  absl::StatusOr<Target> target = ParseTarget(request.target);
  if (!target.ok()) return Finish(Problem(target.status(), request.target));
  request.parsed = *std::move(target);
  Router::Match match = router_.Find(request.method, request.parsed.path);
  if (match.route == nullptr) return Finish(NoRoute(match, sources_, request.target));
  std::optional<HttpResponse> refused;
  request.caller = gate_.Admit(match.route->access, request, arrived.address, now, &refused);
  if (refused) return Finish(*std::move(refused));
  if (request.method == HttpMethod::kPost && !IsJson(request.content_type))
    return Finish(Problem(ProblemType::kUnsupportedType,
                          "send the body as Content-Type: application/json", request.target));
  const uint64_t version = Version();
  *prepared = {.request = std::move(request), .match = std::move(match), .version = version};
  if (prepared->match.route->cacheable && PlacementOf(*prepared) == Placement::kHere) {
    if (auto cached = cache_.Find(prepared->request.target, version)) return cached;
  }
  return nullptr;
}

std::vector<KnownNode> RestService::Others() const {
  return sources_.others ? sources_.others() : std::vector<KnownNode>();
}

Placement RestService::PlacementOf(const PreparedRequest& prepared) const {
  const Route& route = *prepared.match.route;
  const bool is_of_jobs = route.pattern.size() >= 2 && route.pattern[1] == "jobs";
  if (!is_of_jobs || prepared.request.forwarded || Others().empty()) return Placement::kHere;
  if (route.pattern.size() == 2) return Placement::kOnAllNodes;
  const JobId job(prepared.match.arguments.at("job"));
  if (sources_.board->Find(job) != nullptr) return Placement::kHere;
  return route.method == HttpMethod::kGet ? Placement::kElsewhere
                                          : Placement::kHereOnceProgressIsKnown;
}

std::shared_ptr<const CachedResponse> RestService::Answer(const PreparedRequest& prepared) {
  const Route& route = *prepared.match.route;
  HttpResponse response = route.handler(prepared.request, prepared.match.arguments);
  const bool keep = route.cacheable && response.cacheable && response.status == 200 &&
                    prepared.request.others.empty();
  std::shared_ptr<const CachedResponse> finished = Finish(std::move(response));
  if (keep) cache_.Keep(prepared.request.target, prepared.version, finished);
  return finished;
}

}  // namespace eroica
