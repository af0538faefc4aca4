#include "ops/rest/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

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
  return rest::WaitForPeer(options,
                           {.server = post.url.server,
                            .target = post.url.target,
                            .headers = post.headers,
                            .body = post.body},
                           [&stop] { return !stop.stop_requested(); });
}

uint64_t HttpClientExceptions() { return rest::PeerExceptions(); }

}  // namespace eroica
