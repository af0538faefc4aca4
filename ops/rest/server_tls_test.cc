// HTTPS: of the server, and of a node that asks another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "ops/rest/server.h"
#include "ops/rest/testing/certificate.h"
#include "ops/rest/testing/raw_client.h"
#include "ops/rest/testing/shown_job.h"
#include "stream_ops/recording/scratch_directory.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;

class ServerTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_ = MakeCertificate(folder_.path());
    server_ = *RestServer::Start(
        service_, {.tls = TlsFiles{.certificate = files_.certificate, .key = files_.key},
                   .peers = {},
                   .limits = {}});
  }
  // What the server answers over TLS up to this version; empty: no handshake.
  std::string Ask(int version_max) {
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_security_level(context, 0);  // so that the server is who refuses
    SSL_CTX_set_max_proto_version(context, version_max);
    BIO* connection = BIO_new_ssl_connect(context);
    BIO_set_conn_hostname(connection, ("127.0.0.1:" + std::to_string(server_->port())).c_str());
    std::string answer;
    if (BIO_do_connect(connection) == 1 && BIO_do_handshake(connection) == 1) {
      const std::string request =
          "GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
      BIO_write(connection, request.data(), static_cast<int>(request.size()));
      char bytes[4'096];
      for (int read = 0; (read = BIO_read(connection, bytes, sizeof(bytes))) > 0;)
        answer.append(bytes, static_cast<size_t>(read));
    }
    BIO_free_all(connection);
    SSL_CTX_free(context);
    return answer;
  }

  const ScratchDirectory folder_;
  CertificateFiles files_;
  ShownJob job_{"night/7"};
  RestService service_{job_.sources(), {.tokens = {}, .hosts = {}}};
  std::unique_ptr<RestServer> server_;
};

TEST_F(ServerTlsTest, AnswersFromTls12On) {
  EXPECT_THAT(Ask(TLS1_3_VERSION), HasSubstr("night/7"));
  EXPECT_THAT(Ask(TLS1_2_VERSION), HasSubstr("night/7"));
  EXPECT_EQ(Ask(TLS1_1_VERSION), "");
  EXPECT_THAT(server_->url(), HasSubstr("https://127.0.0.1:"));
}

TEST_F(ServerTlsTest, PlainHttpIsNotAnswered) {
  RawClient client(server_->port());
  client.Get("/v1/jobs");
  EXPECT_EQ(client.Read().status, 0);
  EXPECT_THAT(Ask(TLS1_3_VERSION), HasSubstr("night/7"));
}

TEST_F(ServerTlsTest, ANodeAsksOneWhoseCertificateItBelieves) {
  ShownJob other_job("day");
  RestSources sources = other_job.sources();
  sources.others = [this] {
    return std::vector<KnownNode>{{.name = "tls", .url = server_->url()}};
  };
  RestService service(sources, {.tokens = {}, .hosts = {}});
  const auto status = [&service](const std::string& ca) {
    const auto node = *RestServer::Start(
        service, {.tls = {}, .peers = {.token = {}, .ca_certificate = ca}, .limits = {}});
    RawClient client(node->port());
    client.Get("/v1/jobs/night%2F7");
    return client.Read().status;
  };
  EXPECT_EQ(status(files_.certificate), 200);
  EXPECT_EQ(status(""), 502) << "nobody vouches for it";
}

TEST_F(ServerTlsTest, AKeyOfAnotherCertificateIsRefusedAtTheStart) {
  const ScratchDirectory folder;
  const CertificateFiles others = MakeCertificate(folder.path());
  const auto server = RestServer::Start(
      service_, {.tls = TlsFiles{.certificate = files_.certificate, .key = others.key},
                 .peers = {},
                 .limits = {}});
  EXPECT_TRUE(absl::IsInvalidArgument(server.status())) << server.status();
  EXPECT_THAT(std::string(server.status().message()), HasSubstr(others.key));
}

}  // namespace
}  // namespace eroica
