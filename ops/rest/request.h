// A request as the resources meet it: already within its limits, target decoded, caller known. Who
// reads it from a connection: http_session.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/rest/target.h"
#include "ops/rest/tokens.h"

namespace eroica {

enum class HttpMethod : uint8_t { kGet = 0, kHead = 1, kPost = 2, kOptions = 3, kOther = 4 };

struct OthersAnswer {
  std::string node;
  std::optional<std::string> body;  // nothing: it did not answer
};

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string target;  // as it came
  Target parsed;
  std::string body;
  std::string content_type;
  std::string if_none_match;
  std::string last_event_id;
  std::string authorization;  // a secret: never in a log or an answer
  bool accepts_gzip = false;
  bool forwarded = false;  // by another node: it is answered here or not at all
  // What the other nodes say to the same, of a request that is all nodes'; what the node that has
  // the job says of its newest window, of a request that is done here.
  std::vector<OthersAnswer> others;
  Caller caller;
};

}  // namespace eroica
