// /v1/findings: of all jobs, whichever node found them.
#include <fmt/format.h>

#include <algorithm>

#include "ops/rest/problem.h"
#include "ops/rest/resources/answer.h"
#include "ops/rest/resources/finding_json.h"
#include "ops/rest/resources/finding_query.h"
#include "ops/rest/resources/resource.h"
#include "ops/rest/resources/routes.h"

namespace eroica {
namespace {

HttpResponse ListFindings(const RestSources& sources, const HttpRequest& request,
                          Parameters& parameters) {
  FindingQuery query = ReadFindingQuery(parameters);
  query.now_ms = sources.wall_clock_ms();
  const FindingView view = ReadFindingView(parameters);
  const Page page = ReadPage(parameters);
  if (auto refused = parameters.Refuse()) return *refused;
  const std::vector<FindingPtr> findings = sources.findings->Select(query);
  std::vector<std::string> keys;
  for (const FindingPtr& finding : findings) keys.push_back(finding->id);
  std::string items;
  const PageOfItems taken = TakePage(keys, page, [&](size_t place) {
    items += (items.empty() ? "" : ",") + ShownFinding(*findings[place], view);
    return Json(nullptr);
  });
  HttpResponse response = JsonResponse(
      fmt::format(R"({{"as_of":{},"findings":[{}],"next_cursor":{}}})",
                  AsOf(sources.findings->newest_ms(), sources.findings->caught_up()).dump(), items,
                  taken.next_cursor.dump()));
  // Who asks without what is muted is answered anew: mutes end.
  response.cacheable = !request.parsed.query.contains("muted");
  return response;
}

HttpResponse ShowFinding(const RestSources& sources, const HttpRequest& request,
                         Parameters& parameters) {
  const std::string id = parameters.Name("finding");
  if (auto refused = parameters.Refuse()) return *refused;
  const FindingPtr finding = sources.findings->Find(id);
  if (finding == nullptr)
    return Problem(ProblemType::kNotFound,
                   sources.findings->caught_up()
                       ? "there is no finding of that id, or it has left the topic"
                       : "the node is still reading the findings: ask again in a moment",
                   request.target);
  return JsonResponse(
      fmt::format(R"({{"as_of":{},"finding":{}}})",
                  AsOf(sources.findings->newest_ms(), sources.findings->caught_up()).dump(),
                  ShownFinding(*finding)));
}

// What is wrong with a request for the stream; 200: nothing.
HttpResponse CheckStream(const HttpRequest& request, const PathArguments& arguments) {
  Parameters parameters(request, arguments);
  ReadStreamQuery(parameters);
  ReadFindingView(parameters);
  if (!ParsePosition(request.last_event_id))
    parameters.Fail("Last-Event-ID is none of ours: send the id of the last event as it was");
  return parameters.Refuse().value_or(HttpResponse());
}

}  // namespace

void AddFindingRoutes(Router& router, const RestSources& sources) {
  router.Stream("/v1/findings/stream", CheckStream);
  AddResource(router, sources, "/v1/findings", ListFindings);
  AddResource(router, sources, "/v1/findings/{finding}", ShowFinding);
}

}  // namespace eroica
