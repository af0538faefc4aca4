// Asks a running node over HTTP and waits for what it says: for programs such as `eroica top`.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <string>

#include "ops/rest/server.h"

namespace eroica {

class NodeClient {
 public:
  // url: http://HOST:PORT or https://HOST:PORT. goes_on: asked ten times a second while an answer
  // is awaited; false: it is no longer wanted.
  NodeClient(std::string url, PeerOptions options, std::function<bool()> goes_on);

  // The body of a 200 to a GET of target, at most 64 MiB. kUnavailable: no answer came in time, or
  // a 5xx; it may be tried again. kCancelled: goes_on said no. kUnauthenticated, kPermissionDenied,
  // kNotFound, kResourceExhausted and kInvalidArgument as the node says, in its words.
  absl::StatusOr<std::string> Get(const std::string& target) const;

  const std::string& url() const { return url_; }

 private:
  const std::string url_;
  const PeerOptions options_;
  const std::function<bool()> goes_on_;
};

}  // namespace eroica
