// Our HTTP client against a hostile server over real connections, as webhooks and Alertmanager use
// it and as `eroica jobs` and `eroica top` read what nodes answer: nothing is thrown, and no answer
// is larger than its limit.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "ops/cli/job_view.h"
#include "ops/cli/listed_job.h"
#include "ops/rest/http_client.h"
#include "ops/rest/node_client.h"
#include "ops/rest/testing/raw_server.h"
#include "schemas/check.h"
#include "tests/fuzz/http_mutator.h"

namespace eroica {
namespace {

class HostileServer {
 public:
  void Answer(std::string bytes) {
    const size_t sent = bytes.size();
    server_.Answer(std::move(bytes));
    const HttpPost post{.url = url_, .headers = {}, .body = "{}"};
    const absl::StatusOr<HttpResponse> answer = SendPost(post, {}, {});
    EROICA_CHECK(answer.ok() || absl::IsUnavailable(answer.status()));
    EROICA_CHECK(!answer.ok() || answer->body->size() <= sent);
    if (answer.ok() && answer->status == 200) Read();
    EROICA_CHECK(HttpClientExceptions() == 0);
  }

 private:
  void Read() {
    const NodeClient client(server_.url(), {}, [] { return true; });
    const absl::StatusOr<NodeJobs> jobs = ListJobs(client);
    if (!jobs.ok() || jobs->jobs.empty()) return;
    JobTable(jobs->jobs, 80);
    ToJson(jobs->jobs.front());
    const absl::StatusOr<JobView> view = JobViewReader(client, jobs->jobs.front().name).Read();
    if (view.ok()) ToJson(*view);
  }

  RawServer server_;
  const HttpUrl url_ = *ParseHttpUrl(server_.url());
};

}  // namespace
}  // namespace eroica

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return eroica::MutateHttp(eroica::HttpMessages::Side::kAnswers, data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Connections that are closed keep their two ports for a minute: another server, another port.
  constexpr uint64_t kInputsOfServer = 5'000;
  static std::unique_ptr<eroica::HostileServer> server;
  static uint64_t inputs = 0;
  if (inputs++ % kInputsOfServer == 0) server = nullptr;
  if (server == nullptr) server = std::make_unique<eroica::HostileServer>();
  server->Answer({reinterpret_cast<const char*>(data), size});
  return 0;
}
