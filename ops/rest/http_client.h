// Posts a document to a server over HTTP or HTTPS and waits for its answer: for programs that tell
// others (alert sinks). Any thread, each call by itself.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/rest/server.h"

namespace eroica {

struct HttpUrl {
  std::string server;  // "https://hooks.example:443"
  std::string target;  // "/path?query"; may hold a secret
};
// Of http://HOST[:PORT][/PATH][?QUERY] and the same with https. kInvalidArgument where nothing
// could ever be sent there, or where it names a user. The message says why in one sentence, and
// holds nothing of the URL, which may be a secret.
absl::StatusOr<HttpUrl> ParseHttpUrl(std::string_view url);

struct HttpPost {
  HttpUrl url;
  std::vector<std::pair<std::string, std::string>> headers;  // Content-Type among them
  std::string body;
};

// The answer, whatever its status; redirections are not followed. options.time holds for all of
// it, name resolution aside, for which as much again is given. kUnavailable: no answer in time;
// kInvalidArgument: the CA file cannot be used; kCancelled: stop was requested.
absl::StatusOr<HttpResponse> SendPost(const HttpPost& post, const PeerOptions& options,
                                      const std::stop_token& stop);

// What libraries threw while a server was asked, by anybody in this process, since it began: each
// came to kUnavailable. Thread-safe.
uint64_t HttpClientExceptions();

}  // namespace eroica
