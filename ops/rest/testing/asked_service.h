// A service of a small job behind a gate, and somebody with a token of both scopes who asks it, as
// a session does but without connections.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "ops/rest/service.h"
#include "ops/rest/testing/shown_job.h"

namespace eroica {

class AskedService {
 public:
  AskedService() : service_(job_.sources(), {.tokens = *TokenTable::Parse(token_.line, "t")}) {}

  std::shared_ptr<const CachedResponse> Ask(HttpMethod method, const std::string& target,
                                            const std::string& body = "",
                                            const std::string& content_type = "application/json") {
    RestService::Arrived arrived;
    arrived.address = "127.0.0.1";
    arrived.host = "localhost";
    arrived.request.method = method;
    arrived.request.target = target;
    arrived.request.body = body;
    arrived.request.content_type = content_type;
    arrived.request.authorization = "Bearer " + token_.token;
    PreparedRequest prepared;
    const auto at_once = service_.Prepare(std::move(arrived), {}, &prepared);
    return at_once != nullptr ? at_once : service_.Answer(prepared);
  }
  nlohmann::json Post(const std::string& target, const std::string& body = "") {
    const auto answer = Ask(HttpMethod::kPost, target, body);
    EXPECT_LT(answer->response.status, 300) << *answer->response.body;
    return nlohmann::json::parse(*answer->response.body);
  }
  nlohmann::json Get(const std::string& target) {
    const auto answer = Ask(HttpMethod::kGet, target);
    EXPECT_EQ(answer->response.status, 200) << *answer->response.body;
    return nlohmann::json::parse(*answer->response.body);
  }
  int StatusOfPost(const std::string& target, const std::string& body) {
    return Ask(HttpMethod::kPost, target, body)->response.status;
  }
  int StatusOfGet(const std::string& target) {
    return Ask(HttpMethod::kGet, target)->response.status;
  }

  ShownJob& job() { return job_; }

 private:
  ShownJob job_;
  NewToken token_ = *MakeToken("oncall", {.read = true, .control = true});
  RestService service_;
};

}  // namespace eroica
