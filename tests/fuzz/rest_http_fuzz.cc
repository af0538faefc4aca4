// Bytes that nobody honest sends, over real connections: the server answers or closes, and serves
// the next one.
#include <string_view>

#include "ops/rest/server.h"
#include "ops/rest/testing/raw_client.h"
#include "ops/rest/testing/shown_job.h"
#include "schemas/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace eroica;
  static ShownJob job;
  static RestService service(job.sources(), {.tokens = {}, .hosts = {}});
  static const std::unique_ptr<RestServer> server =
      *RestServer::Start(service, {.tls = {}, .peers = {}, .limits = {}});
  RawClient client(server->port());
  client.Send({reinterpret_cast<const char*>(data), size});
  client.End();
  client.ReadToEnd();
  RawClient next(server->port());
  next.Get("/healthz");
  EROICA_CHECK(next.Read().status == 200);
  return 0;
}
