// What a resource is asked with: the path's names and the query's parameters, checked as they are
// read (CheckedInput).
//
//   Parameters parameters(request, arguments);
//   const int64_t limit = parameters.Integer("limit", 100, 1, 1'000);
//   if (auto refused = parameters.Refuse()) return *refused;
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/rest/checked_input.h"
#include "ops/rest/request.h"
#include "ops/rest/response.h"
#include "ops/rest/router.h"

namespace eroica {

class Parameters : public CheckedInput {
 public:
  Parameters(const HttpRequest& request, const PathArguments& arguments)
      : CheckedInput("parameter", request.target), request_(request), arguments_(arguments) {}

  // Of the path.
  const std::string& Name(std::string_view name) const;
  const std::string& JobName();  // {job}
  uint64_t HexName(std::string_view name, size_t digits);
  int64_t IntegerName(std::string_view name, int64_t max);

  // Of the query. Nothing, or the default, where it is not given or wrong.
  std::optional<std::string> Text(const std::string& name, size_t characters_max);
  int64_t Integer(const std::string& name, int64_t otherwise, int64_t min, int64_t max);
  std::optional<int64_t> OptionalInteger(const std::string& name, int64_t min, int64_t max);
  std::optional<int64_t> TimeMs(const std::string& name);  // RFC 3339
  bool Boolean(const std::string& name, bool otherwise);
  // The index of one of the choices.
  std::optional<size_t> Choice(const std::string& name, const std::vector<std::string>& choices);

  // The problem to answer with, once all has been read; nothing where all is well.
  std::optional<HttpResponse> Refuse();

 private:
  std::optional<std::string> Take(const std::string& name);

  const HttpRequest& request_;
  const PathArguments& arguments_;
};

}  // namespace eroica
