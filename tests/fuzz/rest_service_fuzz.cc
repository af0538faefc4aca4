// Requests that nobody honest sends, past the connection: whatever target, method and body are, the
// answer is one of those that the document knows, and is JSON that drives no terminal.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "ops/rest/service.h"
#include "ops/rest/testing/shown_job.h"
#include "schemas/check.h"
#include "schemas/printable_text.h"

namespace eroica {
namespace {

// The first line's method and target, and what follows the empty line.
RestService::Arrived Arrived(std::string_view text, const std::string& token) {
  RestService::Arrived arrived;
  const size_t line = text.find('\r');
  const std::string_view first = text.substr(0, line);
  const size_t space = first.find(' ');
  const std::string_view method = first.substr(0, space);
  arrived.request.method = method == "POST" ? HttpMethod::kPost : HttpMethod::kGet;
  if (space != std::string_view::npos)
    arrived.request.target = first.substr(space + 1, first.rfind(' ') - space - 1);
  const size_t empty = text.find("\r\n\r\n");
  if (empty != std::string_view::npos) arrived.request.body = text.substr(empty + 4);
  arrived.request.content_type = "application/json";
  arrived.request.authorization = "Bearer " + token;
  arrived.address = "127.0.0.1";
  arrived.host = "localhost";
  return arrived;
}

void Check(const HttpResponse& response) {
  constexpr int kKnown[] = {200, 202, 400, 401, 403, 404, 405, 413, 414, 415, 422, 503};
  EROICA_CHECK(std::ranges::find(kKnown, response.status) != std::end(kKnown));
  if (response.body == nullptr || response.content_type.find("json") == std::string::npos) return;
  EROICA_CHECK(nlohmann::json::accept(*response.body));
  EROICA_CHECK(IsUtf8(*response.body));
  EROICA_CHECK(Printable(*response.body) == *response.body);
}

}  // namespace
}  // namespace eroica

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace eroica;
  static ShownJob job;
  static const NewToken token = *MakeToken("fuzz", {.read = true, .control = true});
  static RestService service(job.sources(),
                             {.tokens = *TokenTable::Parse(token.line, "t"), .hosts = {}});
  PreparedRequest prepared;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto response = service.Prepare(Arrived(text, token.token), {}, &prepared);
  if (response == nullptr) response = service.Answer(prepared);
  Check(response->response);
  return 0;
}
