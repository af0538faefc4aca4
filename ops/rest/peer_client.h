// One request to a server over HTTP or HTTPS and its answer. A node asks others on its own thread
// (session.h); programs wait for the answer (http_client.h, node_client.h).
#pragma once

#include <absl/status/statusor.h>

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>  // Boost 1.74's awaitable.hpp needs it
#include <vector>

#include "ops/rest/response.h"
#include "ops/rest/server.h"

namespace eroica::rest {

struct PeerRequest {
  std::string server;  // "http://HOST:PORT" or "https://HOST:PORT"
  std::string target;  // "/v1/jobs?limit=1"; may hold a secret
  std::vector<std::pair<std::string, std::string>> headers{};  // Host and Authorization are added
  std::optional<std::string> body{};                           // of a POST; nothing: a GET
};

// The answer, whatever its status, of at most 64 MiB; redirections are not followed. options.time
// holds from the time on at which the server's name is resolved. kInvalidArgument: server is no URL
// of a server, or the CA file cannot be used; kUnavailable: no answer came in time.
boost::asio::awaitable<absl::StatusOr<HttpResponse>> AskPeer(PeerOptions options,
                                                             PeerRequest request);

// The same on the calling thread, in twice options.time at most. goes_on: asked ten times a second;
// false: the answer is no longer wanted (kCancelled).
absl::StatusOr<HttpResponse> WaitForPeer(const PeerOptions& options, PeerRequest request,
                                         const std::function<bool()>& goes_on);

// Of all questions of this process: those that ended by an exception of a library. Thread-safe.
uint64_t PeerExceptions();

}  // namespace eroica::rest
