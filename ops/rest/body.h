// The JSON object in a request's body, checked as it is read: the first thing that is wrong is
// kept, and a field that nobody reads is wrong, too. As Parameters for the target.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "ops/rest/request.h"
#include "ops/rest/response.h"

namespace eroica {

class Body {
 public:
  // An empty body is an empty object.
  explicit Body(const HttpRequest& request);

  std::optional<std::string> Text(const std::string& name, size_t characters_max);
  std::optional<int64_t> Integer(const std::string& name, int64_t min, int64_t max);
  std::optional<int64_t> TimeMs(const std::string& name);  // RFC 3339
  bool Flag(const std::string& name);                      // false where it is not given
  bool Has(const std::string& name) const { return json_.contains(name); }

  void Require(bool given, const std::string& name);
  void Fail(const std::string& what);
  std::optional<HttpResponse> Refuse();

 private:
  const nlohmann::json* Take(const std::string& name);

  const HttpRequest& request_;
  nlohmann::json json_;
  std::set<std::string> read_;
  std::string error_;
};

}  // namespace eroica
