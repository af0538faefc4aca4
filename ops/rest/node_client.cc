#include "ops/rest/node_client.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

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
  const nlohmann::json problem = nlohmann::json::parse(body, nullptr, false);
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
  constexpr std::chrono::milliseconds kAskEvery{100};
  boost::asio::io_context io(1);
  std::optional<absl::StatusOr<HttpResponse>> response;
  boost::asio::co_spawn(io, rest::AskPeer(options_, url_, target),
                        [&](const std::exception_ptr& failure, auto answer) {
                          response = failure == nullptr
                                         ? std::move(answer)
                                         : absl::InternalError("asking ended by an exception");
                        });
  // The name is resolved without a deadline of its own: this one holds for all.
  const auto deadline = std::chrono::steady_clock::now() + 2 * options_.time;
  while (!response) {
    if (!goes_on_()) return absl::CancelledError("stopped");
    if (std::chrono::steady_clock::now() > deadline)
      return absl::UnavailableError(fmt::format("{} does not answer in time", url_));
    io.run_one_for(kAskEvery);
  }
  if (!response->ok()) return response->status();
  const HttpResponse& answer = **response;
  if (answer.status == 200) return *answer.body;
  return absl::Status(CodeOf(answer.status), fmt::format("{} answers {}: {}", url_, answer.status,
                                                         DetailOf(*answer.body)));
}

}  // namespace eroica
