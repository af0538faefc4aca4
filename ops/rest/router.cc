#include "ops/rest/router.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace eroica {
namespace {

bool IsArgument(const std::string& segment) { return segment.size() > 2 && segment.front() == '{'; }

// What the names stand for; nothing where the path is none of the pattern.
std::optional<PathArguments> Fit(const std::vector<std::string>& pattern,
                                 const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) return std::nullopt;
  PathArguments arguments;
  for (size_t i = 0; i < path.size(); ++i) {
    if (IsArgument(pattern[i])) {
      arguments[pattern[i].substr(1, pattern[i].size() - 2)] = path[i];
    } else if (pattern[i] != path[i]) {
      return std::nullopt;
    }
  }
  return arguments;
}

}  // namespace

std::string Route::Pattern() const { return "/" + absl::StrJoin(pattern, "/"); }

void Router::Get(std::string_view pattern, Access access, Handler handler, bool cacheable) {
  Add({.pattern = {}, .access = access, .cacheable = cacheable, .handler = std::move(handler)},
      pattern);
}

void Router::Post(std::string_view pattern, Handler handler) {
  Add({.method = HttpMethod::kPost,
       .pattern = {},
       .access = Access::kControl,
       .handler = std::move(handler)},
      pattern);
}

void Router::Stream(std::string_view pattern, Handler check) {
  Add({.pattern = {}, .stream = true, .handler = std::move(check)}, pattern);
}

void Router::Add(Route route, std::string_view pattern) {
  while (pattern.size() > 1) {
    pattern.remove_prefix(1);
    const size_t slash = std::min(pattern.find('/'), pattern.size());
    route.pattern.emplace_back(pattern.substr(0, slash));
    pattern.remove_prefix(slash);
  }
  // Patterns without names go first, so that /findings/stream is no finding.
  const auto at = std::ranges::any_of(route.pattern, IsArgument) ? routes_.end() : routes_.begin();
  routes_.insert(at, std::move(route));
}

Router::Match Router::Find(HttpMethod method, const std::vector<std::string>& path) const {
  const HttpMethod wanted = method == HttpMethod::kHead ? HttpMethod::kGet : method;
  std::set<std::string> allowed;
  for (const Route& route : routes_) {
    std::optional<PathArguments> arguments = Fit(route.pattern, path);
    if (!arguments) continue;
    if (route.method == wanted)
      return {.route = &route, .arguments = *std::move(arguments), .allowed = {}};
    allowed.insert(route.method == HttpMethod::kPost ? "POST" : "GET, HEAD");
  }
  return {.route = nullptr, .arguments = {}, .allowed = absl::StrJoin(allowed, ", ")};
}

}  // namespace eroica
