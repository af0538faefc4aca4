#include "ops/rest/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "ops/rest/peer_client.h"

namespace eroica {
namespace {

constexpr std::string_view kHttp = "http://";
constexpr std::string_view kHttps = "https://";

// Whether a port stands behind the host, which may be an IPv6 address in brackets.
bool HasPort(std::string_view authority) {
  const size_t colon = authority.rfind(':');
  const size_t bracket = authority.rfind(']');
  if (colon == std::string_view::npos) return false;
  return bracket == std::string_view::npos || colon > bracket;
}

bool HasControlCharacter(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return true;
  }
  return false;
}

}  // namespace

std::optional<HttpUrl> ParseHttpUrl(std::string_view url) {
  const bool tls = url.starts_with(kHttps);
  if ((!tls && !url.starts_with(kHttp)) || HasControlCharacter(url)) return std::nullopt;
  const std::string_view scheme = tls ? kHttps : kHttp;
  const std::string_view rest = url.substr(scheme.size());
  const size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  // What stands before an @ is a user, and may be a secret.
  if (authority.find('@') != std::string_view::npos) return std::nullopt;
  std::string_view target = rest.substr(end);
  target = target.substr(0, target.find('#'));
  HttpUrl parsed{.server = fmt::format("{}{}", scheme, authority), .target = std::string(target)};
  if (!HasPort(authority)) parsed.server += tls ? ":443" : ":80";
  if (!parsed.target.starts_with('/')) parsed.target.insert(0, "/");
  if (!ParseNodeUrl(parsed.server)) return std::nullopt;
  return parsed;
}

absl::StatusOr<HttpResponse> SendPost(const HttpPost& post, const PeerOptions& options,
                                      const std::stop_token& stop) {
  namespace http = boost::beast::http;
  constexpr std::chrono::milliseconds kLook{100};
  http::request<http::string_body> request(http::verb::post, post.url.target, 11);
  for (const auto& [name, value] : post.headers) request.set(name, value);
  request.body() = post.body;
  request.prepare_payload();
  boost::asio::io_context io(1);
  std::optional<absl::StatusOr<HttpResponse>> response;
  boost::asio::co_spawn(io, rest::SendRequest(options, post.url.server, std::move(request)),
                        [&](const std::exception_ptr& failure, auto answer) {
                          response = failure == nullptr
                                         ? std::move(answer)
                                         : absl::InternalError("asking ended by an exception");
                        });
  // A name is resolved without a deadline of its own: this one holds for all.
  const auto deadline = std::chrono::steady_clock::now() + 2 * options.time;
  while (!response) {
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    if (std::chrono::steady_clock::now() > deadline)
      return absl::UnavailableError(
          fmt::format("{} does not answer: its name is not resolved in time", post.url.server));
    io.run_one_for(kLook);
  }
  return *std::move(response);
}

}  // namespace eroica
