#include "ops/rest/gate.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace eroica {
namespace {

// The header without its port; IPv6 addresses stand in brackets.
std::string_view WithoutPort(std::string_view host) {
  if (!host.empty() && host.front() == '[') {
    const size_t close = host.find(']');
    return close == std::string_view::npos ? "" : host.substr(1, close - 1);
  }
  return host.substr(0, host.find(':'));
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

}  // namespace

Gate::Gate(GateOptions options)
    : options_(std::move(options)),
      requests_(options_.requests_per_second, 2 * options_.requests_per_second),
      wrong_tokens_(options_.wrong_tokens_per_second, options_.wrong_tokens_burst) {}

bool Gate::IsOurs(std::string_view host) const {
  const std::string name(WithoutPort(host));
  if (IsAddress(name) || absl::EqualsIgnoreCase(name, "localhost")) return true;
  return std::ranges::any_of(options_.hosts, [&](const std::string& known) {
    return absl::EqualsIgnoreCase(known, name);
  });
}

std::optional<HttpResponse> Gate::RefuseArrival(const Arrival& arrival, TimePoint now) {
  if (!requests_.Take(arrival.address, now)) {
    HttpResponse refused =
        Problem(ProblemType::kTooManyRequests,
                "this address asks too often (rest.requests_per_second)", arrival.target);
    refused.Add("Retry-After", "1");
    return refused;
  }
  if (IsOurs(arrival.host)) return std::nullopt;
  return Problem(
      ProblemType::kWrongHost,
      fmt::format("the Host header {} is no address, not localhost and not in rest.hosts",
                  arrival.host.empty() ? "is missing: it" : arrival.host),
      arrival.target);
}

void Gate::RenewTokens(TimePoint now) {
  if (!options_.read_tokens) return;
  if (tokens_read_at_ && now - *tokens_read_at_ < kTokensReadApart) return;
  tokens_read_at_ = now;
  if (std::optional<TokenTable> tokens = options_.read_tokens())
    options_.tokens = *std::move(tokens);
}

Caller Gate::Admit(Access access, const HttpRequest& request, const std::string& address,
                   TimePoint now, std::optional<HttpResponse>* refused) {
  if (access == Access::kAnybody) return {};
  RenewTokens(now);
  if (!options_.tokens) {
    if (access == Access::kRead) return {.name = "", .scopes = {.read = true}};
    *refused = Problem(ProblemType::kForbidden,
                       "control actions need a token, and this node has no token file: set "
                       "rest.token_file (`eroica token` makes one)",
                       request.target);
    return {};
  }
  std::optional<Caller> caller = options_.tokens->Find(request.authorization);
  if (!caller) {
    if (!request.authorization.empty() && !wrong_tokens_.Take(address, now)) {
      *refused = Problem(ProblemType::kTooManyRequests,
                         "too many wrong tokens came from this address", request.target);
      (*refused)->Add("Retry-After", "10");
      return {};
    }
    *refused = Problem(ProblemType::kUnauthorized,
                       "send a token of the node's token file: Authorization: Bearer TOKEN",
                       request.target);
    return {};
  }
  const bool allowed = access == Access::kControl ? caller->scopes.control : caller->scopes.read;
  if (!allowed) {
    *refused = Problem(ProblemType::kForbidden,
                       fmt::format("the token {} lacks the scope {}", caller->name,
                                   access == Access::kControl ? "control" : "read"),
                       request.target);
  }
  return *std::move(caller);
}

}  // namespace eroica
