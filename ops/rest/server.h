// Serves the API over HTTP/1.1, with TLS where it is given a certificate: one thread reads and
// writes all connections, a few others make answers. Everything is bounded: connections, headers,
// bodies, and the time of each part of a request.
//
// Start and the destructor are for the owner; the rest is thread-safe.
#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "ops/rest/service.h"

namespace eroica {

struct TlsFiles {
  std::string certificate;  // PEM, the chain
  std::string key;          // PEM
};

// How a node is asked, by another or by a program (node_client.h).
struct PeerOptions {
  std::string token;           // a secret; empty: the nodes have no tokens
  std::string ca_certificate;  // PEM file that HTTPS nodes are believed by; empty: the system's
  std::chrono::milliseconds time{5'000};  // for a whole answer
};

struct ServerLimits {
  // At most; one more takes the place of the connection that has been idle longest, and where none
  // is idle it is answered 503.
  size_t connections = 4'096;
  size_t header_bytes = 16'384;  // and as many of trailers
  size_t headers = 100;
  size_t body_bytes = 65'536;
  size_t requests_of_connection = 100'000;
  size_t answers_in_work = 64;                    // beyond, 503
  std::chrono::milliseconds header_time{10'000};  // from its first byte
  std::chrono::milliseconds body_time{30'000};
  std::chrono::milliseconds write_time{30'000};
  std::chrono::milliseconds idle_time{60'000};
  std::chrono::milliseconds event_heartbeat{15'000};
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any that is free
  std::optional<TlsFiles> tls;
  PeerOptions peers;
  ServerLimits limits;
};

// What the server has counted since its start.
struct ServerProbe {
  uint64_t connections = 0;  // accepted
  uint64_t connections_open = 0;
  uint64_t connections_refused = 0;  // for want of room
  uint64_t connections_evicted = 0;  // idle ones, for others
  uint64_t malformed = 0;            // requests that were none, or did not come whole in time
  uint64_t exceptions = 0;  // thrown by libraries or handlers; each ended one connection or answer
  uint64_t event_streams_open = 0;
  std::map<int, uint64_t> responses;  // by status
};

class RestServer {
 public:
  // Listens from now on. service must outlive the server. kUnavailable: the address is taken;
  // kInvalidArgument: it is none, or the TLS files cannot be used.
  static absl::StatusOr<std::unique_ptr<RestServer>> Start(RestService& service,
                                                           const ServerOptions& options);
  // No request is taken any more; those that are being answered have a second to be.
  virtual ~RestServer() = default;

  virtual uint16_t port() const = 0;
  // "http://127.0.0.1:8470".
  virtual std::string url() const = 0;
  virtual ServerProbe probe() const = 0;
};

}  // namespace eroica
