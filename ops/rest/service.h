// The API without its connections: from a request to its answer. What passes the gate, has a route
// and is not in the cache is answered by the route's handler.
//
// Prepare is for the server's thread, Answer for any; the sources outlive the service.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "ops/rest/gate.h"
#include "ops/rest/request.h"
#include "ops/rest/response_cache.h"
#include "ops/rest/router.h"
#include "ops/rest/sources.h"

namespace eroica {

// A request with its route, once it may be answered.
struct PreparedRequest {
  HttpRequest request;
  Router::Match match;
  uint64_t version = 0;  // of the sources, when it came
};

// Where a request is answered: jobs are known to the node that has their task alone.
enum class Placement : uint8_t {
  kHere = 0,
  kElsewhere = 1,
  kOnAllNodes = 2,
  kHereOnceProgressIsKnown = 3,  // the node that has the job says how far it is
};

// What a program answers with. kProcess: /healthz and /metrics of one that knows no jobs; of the
// sources it needs `metrics` and `node` alone.
enum class RestResources : uint8_t { kNode = 0, kProcess = 1 };

class RestService {
 public:
  static constexpr size_t kCacheBytes = size_t{16} << 20;

  RestService(const RestSources& sources, GateOptions gate,
              RestResources resources = RestResources::kNode);

  // A request as it was read: request.parsed and caller are still empty.
  struct Arrived {
    HttpRequest request;
    std::string address;  // of the peer
    std::string host;     // header
  };
  // At once: refused, or in the cache; else *prepared is for Answer, or for the stream.
  std::shared_ptr<const CachedResponse> Prepare(Arrived arrived,
                                                std::chrono::steady_clock::time_point now,
                                                PreparedRequest* prepared);
  Placement PlacementOf(const PreparedRequest& prepared) const;
  std::vector<KnownNode> Others() const;
  // Asks the handler, which may take its time.
  std::shared_ptr<const CachedResponse> Answer(const PreparedRequest& prepared);

  const RestSources& sources() const { return sources_; }
  const Router& router() const { return router_; }

 private:
  uint64_t Version() const;

  const RestSources sources_;
  Gate gate_;
  Router router_;
  ResponseCache cache_{kCacheBytes};
};

// With its tag, and gzip where it is worth it.
std::shared_ptr<const CachedResponse> Finish(HttpResponse response);

}  // namespace eroica
