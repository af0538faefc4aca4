// The head of an answer as it goes over the connection. Pure functions, any thread.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "ops/rest/response_cache.h"

namespace eroica {

struct HeadOptions {
  bool gzip = false;          // the body is sent in that form
  bool not_modified = false;  // 304: the caller has it
  bool keep_alive = true;
  std::string_view date;  // HttpDate
};

// "Tue, 24 Nov 2026 10:00:00 GMT".
std::string HttpDate(std::time_t now);
// With the empty line behind it. Values of headers never hold line breaks: what came from outside
// is in bodies only.
std::string ResponseHead(const CachedResponse& cached, const HeadOptions& options);
// Of a stream of server-sent events, which ends with its connection.
std::string EventStreamHead(std::string_view date);

}  // namespace eroica
