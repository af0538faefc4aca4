// Which handler answers a request, by method and path. Built once, then read by any thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ops/rest/request.h"
#include "ops/rest/response.h"

namespace eroica {

// What a path's {names} stand for.
using PathArguments = std::map<std::string, std::string, std::less<>>;
using Handler = std::function<HttpResponse(const HttpRequest&, const PathArguments&)>;

// Who may ask. kAnybody: without a token, too, where the node has tokens.
enum class Access : uint8_t { kAnybody = 0, kRead = 1, kControl = 2 };

struct Route {
  HttpMethod method = HttpMethod::kGet;
  std::vector<std::string> pattern;  // segments; "{name}" stands for any one
  Access access = Access::kRead;
  bool cacheable = false;  // the same until the board or the findings change
  bool stream = false;     // server-sent events of findings, which the server itself writes
  Handler handler;

  std::string Pattern() const;  // "/v1/jobs/{job}"
};

class Router {
 public:
  // pattern: "/v1/jobs/{job}".
  void Get(std::string_view pattern, Access access, Handler handler, bool cacheable = true);
  void Post(std::string_view pattern, Handler handler);  // Access::kControl
  // A GET whose handler answers with what is wrong with the request; status 200: it is streamed.
  void Stream(std::string_view pattern, Handler check);

  struct Match {
    const Route* route = nullptr;  // nullptr: see allowed
    PathArguments arguments;
    std::string allowed;  // methods that the path takes, for Allow; empty: no such path
  };
  // HEAD is answered by GET's route. A pattern without names goes before one with them.
  Match Find(HttpMethod method, const std::vector<std::string>& path) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  void Add(Route route, std::string_view pattern);

  std::vector<Route> routes_;
};

}  // namespace eroica
