// What a request must pass before anybody looks at what it asks for: the host that it names, its
// token, how often it comes. Thread-compatible: one thread (the server's).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/rest/problem.h"
#include "ops/rest/rate_limit.h"
#include "ops/rest/router.h"
#include "ops/rest/tokens.h"

namespace eroica {

struct GateOptions {
  std::optional<TokenTable> tokens;  // without: everybody may read, nobody may control
  // The tokens as they are now; nothing: as before. Asked by a request that comes kTokensReadApart
  // after the one that asked last, so that a token is taken away without a restart.
  std::function<std::optional<TokenTable>()> read_tokens{};
  // Names by which the node may be called beside IP addresses and localhost: a page elsewhere that
  // rebinds its own name to this node's address (DNS rebinding) is refused.
  std::vector<std::string> hosts;
  double requests_per_second = 0;  // of one address; 0: no limit
  // Wrong tokens of one address. A right one costs nothing.
  double wrong_tokens_per_second = 0.2;
  double wrong_tokens_burst = 20;
};

class Gate {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kTokensReadApart{5};

  explicit Gate(GateOptions options);

  // What to refuse the request with, whatever its path; nothing: it may go on.
  struct Arrival {
    const std::string& address;  // of the peer, without port
    const std::string& host;     // the header; empty: there is none
    const std::string& target;
  };
  std::optional<HttpResponse> RefuseArrival(const Arrival& arrival, TimePoint now);

  // Who asks. In *refused what to answer instead, where the token is wrong or lacks the scope.
  Caller Admit(Access access, const HttpRequest& request, const std::string& address, TimePoint now,
               std::optional<HttpResponse>* refused);

 private:
  bool IsOurs(std::string_view host) const;
  void RenewTokens(TimePoint now);

  GateOptions options_;  // of which the tokens change
  std::optional<TimePoint> tokens_read_at_;
  RateLimit requests_;
  RateLimit wrong_tokens_;
};

}  // namespace eroica
