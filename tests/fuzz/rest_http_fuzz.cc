// The whole server over real connections, and bytes that nobody honest sends: it answers or closes,
// no library throws, and the next one is served.
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "ops/rest/server.h"
#include "ops/rest/testing/raw_client.h"
#include "ops/rest/testing/shown_job.h"
#include "schemas/check.h"
#include "tests/fuzz/http_mutator.h"

namespace eroica {
namespace {

class FuzzedServer {
 public:
  void Take(std::string_view bytes) {
    RawClient client(server_->port());
    EROICA_CHECK(client.connected());
    // In two pieces, so that messages come in parts.
    const size_t cut = bytes.empty() ? 0 : static_cast<uint8_t>(bytes.back()) % bytes.size();
    client.Send(bytes.substr(0, cut));
    client.Send(bytes.substr(cut));
    client.End();
    // To the end, or until a stream of findings says that nothing happens.
    client.ReadUntil("still here");
    EROICA_CHECK(server_->probe().exceptions == 0);
  }
  void CheckItServes() {
    RawClient next(server_->port());
    next.Get("/healthz");
    EROICA_CHECK(next.Read().status == 200);
  }

 private:
  ShownJob job_;
  RestService service_{job_.sources(), {.tokens = {}, .hosts = {}}};
  const std::unique_ptr<RestServer> server_ = *RestServer::Start(
      service_,
      {.tls = {}, .peers = {}, .limits = {.event_heartbeat = std::chrono::milliseconds(1)}});
};

}  // namespace
}  // namespace eroica

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return eroica::MutateHttp(eroica::HttpMessages::Side::kRequests, data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Connections that are closed keep their two ports for a minute: another server, another port.
  constexpr uint64_t kInputsOfServer = 10'000;
  static std::unique_ptr<eroica::FuzzedServer> server;
  static uint64_t inputs = 0;
  if (inputs % kInputsOfServer == 0) server = nullptr;
  if (server == nullptr) server = std::make_unique<eroica::FuzzedServer>();
  server->Take({reinterpret_cast<const char*>(data), size});
  if (++inputs % 16 == 0) server->CheckItServes();
  return 0;
}
