#include "ops/rest/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/rest/testing/certificate.h"
#include "ops/rest/testing/shown_job.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

TEST(ParseHttpUrl, TakesServerAndTargetApart) {
  const auto url = ParseHttpUrl("https://hooks.example/a/b?key=1#part");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->server, "https://hooks.example:443");
  EXPECT_EQ(url->target, "/a/b?key=1");
  EXPECT_EQ(ParseHttpUrl("http://hooks.example?x")->target, "/?x");
  EXPECT_EQ(ParseHttpUrl("http://[::1]")->server, "http://[::1]:80");
  EXPECT_EQ(ParseHttpUrl("http://[::1]:9093/x")->server, "http://[::1]:9093");
}

TEST(ParseHttpUrl, RefusesWhatIsNone) {
  for (const std::string text :
       {"", "hooks.example", "ftp://hooks.example", "http://", "http:///x",
        "http://user:secret@hooks.example/", "http://a b/", "http://a:/", "http://a/x\r\nHost: b"})
    EXPECT_FALSE(ParseHttpUrl(text).has_value()) << text;
}

TEST(SendPost, ReachesAServerWhoseCertificateItBelieves) {
  const ScratchDirectory folder;
  const CertificateFiles files = MakeCertificate(folder.path());
  ShownJob job("night");
  RestService service(job.sources(), {.tokens = {}, .hosts = {}});
  const auto server = *RestServer::Start(
      service, {.tls = TlsFiles{.certificate = files.certificate, .key = files.key},
                .peers = {},
                .limits = {}});
  HttpPost post{.url = *ParseHttpUrl(server->url() + "/v1/jobs"),
                .headers = {{"Content-Type", "application/json"}},
                .body = "{}"};
  const auto answer = SendPost(post, {.ca_certificate = files.certificate}, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 405) << "the answer of the node itself";
  EXPECT_TRUE(absl::IsUnavailable(SendPost(post, {}, {}).status())) << "nobody vouches for it";
  EXPECT_TRUE(absl::IsInvalidArgument(
      SendPost(post, {.ca_certificate = folder.path() + "/none"}, {}).status()));
}

TEST(SendPost, GivesUpWhenAStopIsRequested) {
  std::stop_source stop;
  stop.request_stop();
  const HttpPost post{.url = *ParseHttpUrl("http://127.0.0.1:1/"), .headers = {}, .body = ""};
  EXPECT_TRUE(absl::IsCancelled(SendPost(post, {}, stop.get_token()).status()));
  EXPECT_TRUE(absl::IsUnavailable(SendPost(post, {.time = milliseconds(500)}, {}).status()));
}

}  // namespace
}  // namespace eroica
