// /v1/jobs/{job}/links: what connections carried, as a matrix of senders and receivers.
#include <algorithm>
#include <tuple>

#include "ops/rest/problem.h"
#include "ops/rest/resources/answer.h"
#include "ops/rest/resources/job_lookup.h"
#include "ops/rest/resources/resource.h"
#include "ops/rest/resources/routes.h"

namespace eroica {
namespace {

Json LinksJson(const std::vector<LinkRow>& links) {
  Json json{{"source", Json::array()},     {"destination", Json::array()},
            {"resource", Json::array()},   {"bytes", Json::array()},
            {"busy_ns", Json::array()},    {"gb_per_s", Json::array()},
            {"retransmits", Json::array()}};
  for (const LinkRow& link : links) {
    json["source"].push_back(link.source);
    json["destination"].push_back(link.destination);
    json["resource"].push_back(ToString(link.resource));
    json["bytes"].push_back(link.bytes);
    json["busy_ns"].push_back(link.busy_ns);
    // Bytes a nanosecond are gigabytes a second.
    json["gb_per_s"].push_back(
        link.busy_ns > 0 ? Json(static_cast<double>(link.bytes) / static_cast<double>(link.busy_ns))
                         : Json(nullptr));
    json["retransmits"].push_back(link.retransmits);
  }
  return json;
}

HttpResponse ShowLinks(const RestSources& sources, const HttpRequest& request,
                       Parameters& parameters) {
  const JobWindowParameters asked = ReadJobWindow(parameters);
  const auto limit = static_cast<size_t>(parameters.Integer("limit", 5'000, 1, 20'000));
  if (auto refused = parameters.Refuse()) return *refused;
  const absl::StatusOr<ShownWindow> shown = FindShown(sources, asked);
  if (!shown.ok()) return Problem(shown.status(), request.target);
  const WindowDetail& detail = *shown->window->detail;
  std::vector<LinkRow> links = detail.links;
  const auto by_ends = [](const LinkRow& link) {
    return std::tuple(link.source, link.destination, link.resource);
  };
  if (links.size() > limit) {
    std::ranges::nth_element(links, links.begin() + static_cast<ptrdiff_t>(limit), std::greater<>(),
                             &LinkRow::bytes);
    links.resize(limit);
    std::ranges::sort(links, {}, by_ends);
  }
  const uint64_t omitted = detail.links_dropped + detail.links.size() - links.size();
  return AnswerOf(*shown, {{"links", LinksJson(links)}, {"omitted", omitted}});
}

}  // namespace

void AddLinkRoutes(Router& router, const RestSources& sources) {
  AddResource(router, sources, "/v1/jobs/{job}/links", ShowLinks);
}

}  // namespace eroica
