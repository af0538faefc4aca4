#include "ops/rest/node_client.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "ops/rest/json_fields.h"
#include "ops/rest/peer_client.h"

namespace eroica {
namespace {

absl::StatusCode CodeOf(int status) {
  if (status >= 500) return absl::StatusCode::kUnavailable;
  switch (status) {
    case 401: return absl::StatusCode::kUnauthenticated;
    case 403: return absl::StatusCode::kPermissionDenied;
    case 404: return absl::StatusCode::kNotFound;
    case 429: return absl::StatusCode::kResourceExhausted;
    default: return absl::StatusCode::kInvalidArgument;
  }
}

// The sentence of a problem+json.
std::string DetailOf(const std::string& body) {
  const nlohmann::json problem = ParseForeignJson(body);
  for (const char* field : {"detail", "title"}) {
    if (problem.is_object() && problem.contains(field) && problem[field].is_string())
      return problem[field].get<std::string>();
  }
  return "no reason is given";
}

}  // namespace

NodeClient::NodeClient(std::string url, PeerOptions options, std::function<bool()> goes_on)
    : url_(std::move(url)), options_(std::move(options)), goes_on_(std::move(goes_on)) {}

absl::StatusOr<std::string> NodeClient::Get(const std::string& target) const {
  const absl::StatusOr<HttpResponse> answer =
      rest::WaitForPeer(options_, {.server = url_, .target = target}, goes_on_);
  if (!answer.ok()) return answer.status();
  if (answer->status == 200) return *answer->body;
  return absl::Status(CodeOf(answer->status), fmt::format("{} answers {}: {}", url_, answer->status,
                                                          DetailOf(*answer->body)));
}

}  // namespace eroica
