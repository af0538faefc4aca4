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
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->server, "https://hooks.example:443");
  EXPECT_EQ(url->target, "/a/b?key=1");
  EXPECT_EQ(ParseHttpUrl("http://hooks.example?x")->target, "/?x");
  EXPECT_EQ(ParseHttpUrl("http://[::1]")->server, "http://[::1]:80");
  EXPECT_EQ(ParseHttpUrl("http://[::1]:9093/x")->server, "http://[::1]:9093");
}

TEST(ParseHttpUrl, RefusesWhatIsNone) {
  for (const std::string text : {"",
                                 "hooks.example",
                                 "ftp://hooks.example",
                                 "http://",
                                 "http:///x",
                                 "http://user:secret@hooks.example/",
                                 "http://a b/",
                                 "http://a:/",
                                 "http://a/x\r\nHost: b",
                                 "http://a:0/",
                                 "http://a:65536/",
                                 "http://a:80:81/",
                                 "http://a:8o/",
                                 "http://a..b/",
                                 "http://-a/",
                                 "http://.a/",
                                 "http://a$b/",
                                 "http://[::1/",
                                 "http://::1/",
                                 "http://[a]/",
                                 "http://300.1.1.1/",
                                 "http://1.2.3/",
                                 "http://a/%zz",
                                 "http://a/%2",
                                 "http://a/{job}",
                                 "http://caf\xc3\xa9/",
                                 "http://a/caf\xc3\xa9"})
    EXPECT_TRUE(absl::IsInvalidArgument(ParseHttpUrl(text).status())) << text;
}

TEST(ParseHttpUrl, TakesWhateverCanBeReached) {
  for (const std::string text :
       {"http://a", "http://a.b-c_d.example.:65535/x?y=%20z", "https://10.0.0.1/", "http://1a/",
        "http://[2001:db8::1]:9093/", "http://xn--caf-dma.example/a;b=c,d(e)"})
    EXPECT_TRUE(ParseHttpUrl(text).ok()) << text;
}

TEST(ParseHttpUrl, SaysNothingOfTheUrl) {
  for (const std::string text : {"secret", "https://secret@a/", "https://a/secret\n",
                                 "https://secret:secret/", "https://secret..a/"})
    EXPECT_EQ(ParseHttpUrl(text).status().message().find("secret"), std::string::npos) << text;
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
