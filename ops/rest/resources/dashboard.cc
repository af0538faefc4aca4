// The dashboard's files, as the program carries them. They hold no data: a browser gets that from
// the API, with the token that its user gives it.
#include "ops/dashboard/assets.h"
#include "ops/rest/resources/routes.h"

namespace eroica {
namespace {

// Nothing is loaded from elsewhere, nothing inline runs, no other page frames it.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

HttpResponse ShowAsset(const Asset& asset) {
  HttpResponse response = JsonResponse(std::string(asset.bytes));
  response.content_type = asset.content_type;
  response.Add("Content-Security-Policy", std::string(kPolicy));
  return response;
}

}  // namespace

void AddDashboardRoutes(Router& router) {
  for (const Asset& asset : Assets()) {
    router.Get(asset.path, Access::kAnybody,
               [&asset](const HttpRequest&, const PathArguments&) { return ShowAsset(asset); });
  }
}

}  // namespace eroica
