#include "ops/rest/problem.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "schemas/printable_text.h"

namespace eroica {
namespace {

struct Row {
  int status;
  std::string_view name;  // urn:eroica:problem:NAME
  std::string_view title;
};

constexpr std::array<Row, kProblemTypeCount> kRows = {
    {{400, "bad-request", "The request is malformed"},
     {401, "unauthorized", "A valid token is needed"},
     {403, "forbidden", "The token does not allow this"},
     {404, "not-found", "There is nothing of that name"},
     {405, "method-not-allowed", "The path takes other methods"},
     {409, "conflict", "The request conflicts with what is there"},
     {413, "body-too-large", "The body is too large"},
     {414, "target-too-long", "The target is too long"},
     {415, "unsupported-type", "The body must be application/json"},
     {421, "wrong-host", "This node does not serve that host name"},
     {422, "unprocessable", "The request cannot be carried out"},
     {429, "too-many-requests", "Too many requests"},
     {431, "headers-too-large", "The headers are too large"},
     {500, "internal", "The node failed to answer"},
     {502, "bad-gateway", "The node that has the answer did not give one"},
     {503, "unavailable", "The node is not ready or too busy"}}};

ProblemType TypeOfStatus(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument: return ProblemType::kBadRequest;
    case absl::StatusCode::kNotFound: return ProblemType::kNotFound;
    case absl::StatusCode::kAlreadyExists: return ProblemType::kConflict;
    case absl::StatusCode::kFailedPrecondition: return ProblemType::kUnprocessable;
    case absl::StatusCode::kPermissionDenied: return ProblemType::kForbidden;
    case absl::StatusCode::kUnauthenticated: return ProblemType::kUnauthorized;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnavailable: return ProblemType::kUnavailable;
    default: return ProblemType::kInternal;
  }
}

}  // namespace

int HttpStatusOf(ProblemType type) { return kRows[static_cast<size_t>(type)].status; }

HttpResponse Problem(ProblemType type, std::string_view detail, std::string_view path) {
  const Row& row = kRows[static_cast<size_t>(type)];
  const nlohmann::ordered_json problem{{"type", fmt::format("urn:eroica:problem:{}", row.name)},
                                       {"title", row.title},
                                       {"status", row.status},
                                       {"detail", Printable(detail)},
                                       {"instance", Printable(path)}};
  HttpResponse response = JsonResponse(
      PrintableJson(problem.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)),
      row.status);
  response.content_type = "application/problem+json";
  if (type == ProblemType::kUnauthorized) response.Add("WWW-Authenticate", "Bearer");
  if (type == ProblemType::kUnavailable) response.Add("Retry-After", "2");
  return response;
}

HttpResponse Problem(const absl::Status& status, std::string_view path) {
  return Problem(TypeOfStatus(status.code()),
                 std::string_view(status.message().data(), status.message().size()), path);
}

}  // namespace eroica
