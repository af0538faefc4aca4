// The JSON object in a request's body, checked as it is read (CheckedInput). As Parameters for the
// target.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ops/rest/checked_input.h"
#include "ops/rest/request.h"
#include "ops/rest/response.h"

namespace eroica {

class Body : public CheckedInput {
 public:
  // An empty body is an empty object.
  explicit Body(const HttpRequest& request);

  std::optional<std::string> Text(const std::string& name, size_t characters_max);
  std::optional<int64_t> Integer(const std::string& name, int64_t min, int64_t max);
  std::optional<int64_t> TimeMs(const std::string& name);  // RFC 3339
  // An object of texts, numbers and truth values as "name=value", for ApplyAssignment.
  std::vector<std::string> Assignments(const std::string& name, size_t count_max);
  bool Flag(const std::string& name);  // false where it is not given
  bool Has(const std::string& name) const { return json_.contains(name); }

  std::optional<HttpResponse> Refuse();

 private:
  const nlohmann::json* Take(const std::string& name);

  nlohmann::json json_;
};

}  // namespace eroica
