#include "ops/rest/http_client.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

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

// A character that a URL holds only as %XX, or a % without its two digits.
bool HasIllegalCharacter(std::string_view text) {
  constexpr std::string_view kEscaped = "\"<>\\^`{|}";
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c <= 0x20 || c >= 0x7f || kEscaped.find(text[i]) != std::string_view::npos) return true;
    if (c != '%') continue;
    if (i + 2 >= text.size() || !absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) ||
        !absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2])))
      return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<HttpUrl> ParseHttpUrl(std::string_view url) {
  const auto refused = [](const char* why) { return absl::InvalidArgumentError(why); };
  const bool tls = url.starts_with(kHttps);
  if (!tls && !url.starts_with(kHttp))
    return refused("it is no http://HOST[:PORT][/PATH] and no such https URL");
  const std::string_view scheme = tls ? kHttps : kHttp;
  const std::string_view rest = url.substr(scheme.size());
  const size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  // What stands before an @ is a user, and may be a secret.
  if (authority.find('@') != std::string_view::npos)
    return refused("it names a user before the @, and no user is ever sent: leave that out");
  if (HasIllegalCharacter(rest))
    return refused(
        "it holds a space, a letter beyond ASCII or another character that a URL holds only as "
        "%XX");
  std::string_view target = rest.substr(end);
  target = target.substr(0, target.find('#'));
  HttpUrl parsed{.server = fmt::format("{}{}", scheme, authority), .target = std::string(target)};
  if (!HasPort(authority)) parsed.server += tls ? ":443" : ":80";
  if (!parsed.target.starts_with('/')) parsed.target.insert(0, "/");
  if (!ParseNodeUrl(parsed.server))
    return refused("its host is no name or address, or its port no number from 1 to 65535");
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
