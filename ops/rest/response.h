// An answer, before it is written to a connection. Its body is shared, so that one that was made
// once is written to many.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace eroica {

inline constexpr std::string_view kJsonType = "application/json";

struct HttpResponse {
  int status = 200;
  std::string content_type{kJsonType};
  std::shared_ptr<const std::string> body;                   // nullptr: none
  std::vector<std::pair<std::string, std::string>> headers;  // beside those of every answer
  bool cacheable = true;                                     // where its route is

  HttpResponse& Add(std::string name, std::string value) {
    headers.emplace_back(std::move(name), std::move(value));
    return *this;
  }
};

inline HttpResponse JsonResponse(std::string body, int status = 200) {
  return {.status = status,
          .content_type = std::string(kJsonType),
          .body = std::make_shared<const std::string>(std::move(body)),
          .headers = {},
          .cacheable = true};
}

}  // namespace eroica
