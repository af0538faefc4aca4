// Errors as people and programs get them: problem+json (RFC 9457). One list of what can go wrong,
// which is also that of ops/rest/openapi.json. Pure functions, any thread.
#pragma once

#include <absl/status/status.h>

#include <string_view>

#include "ops/rest/response.h"

namespace eroica {

enum class ProblemType : uint8_t {
  kBadRequest = 0,
  kUnauthorized = 1,
  kForbidden = 2,
  kNotFound = 3,
  kMethodNotAllowed = 4,
  kConflict = 5,
  kBodyTooLarge = 6,
  kTargetTooLong = 7,
  kUnsupportedType = 8,
  kWrongHost = 9,
  kUnprocessable = 10,
  kTooManyRequests = 11,
  kHeadersTooLarge = 12,
  kInternal = 13,
  kBadGateway = 14,
  kUnavailable = 15,
};
inline constexpr int kProblemTypeCount = 16;

int HttpStatusOf(ProblemType type);
// detail: what was wrong with this request and what to do, a sentence. path: what was asked for.
// Both may hold what came from outside.
HttpResponse Problem(ProblemType type, std::string_view detail, std::string_view path);
// The same of a resource's error.
HttpResponse Problem(const absl::Status& status, std::string_view path);

}  // namespace eroica
