#include "ops/rest/peer_client.h"

#include <fmt/format.h>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <exception>

namespace eroica::rest {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Request = http::request<http::string_body>;
using Answer = absl::StatusOr<HttpResponse>;

constexpr uint64_t kBodyMax = uint64_t{64} << 20;
constexpr std::chrono::milliseconds kAskEvery{100};

absl::Status NoAnswer(const std::string& url, const error_code& error) {
  return absl::UnavailableError(fmt::format("{} does not answer: {}", url, error.message()));
}

Request MessageOf(const PeerOptions& options, const NodeUrl& url, PeerRequest& request) {
  Request message(request.body ? http::verb::post : http::verb::get, request.target, 11);
  for (const auto& [name, value] : request.headers) message.set(name, value);
  message.set(http::field::host,
              url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]");
  if (!options.token.empty()) message.set(http::field::authorization, "Bearer " + options.token);
  message.keep_alive(false);
  if (request.body) {
    message.body() = *std::move(request.body);
    message.prepare_payload();
  }
  return message;
}

absl::Status VerifyServer(const PeerOptions& options, const NodeUrl& url, net::ssl::context& tls) {
  error_code error;
  tls.set_default_verify_paths(error);
  if (!options.ca_certificate.empty()) tls.load_verify_file(options.ca_certificate, error);
  if (error)
    return absl::InvalidArgumentError(fmt::format("cannot use the CA certificate {}: {}",
                                                  options.ca_certificate, error.message()));
  tls.set_verify_mode(net::ssl::verify_peer);
  tls.set_verify_callback(net::ssl::host_name_verification(url.host));
  return absl::OkStatus();
}

template <typename Stream>
net::awaitable<Answer> Exchange(Stream& stream, const Request& request, const std::string& url) {
  error_code error;
  co_await http::async_write(stream, request, net::redirect_error(net::use_awaitable, error));
  if (error) co_return NoAnswer(url, error);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kBodyMax);
  co_await http::async_read(stream, buffer, parser, net::redirect_error(net::use_awaitable, error));
  if (error) co_return NoAnswer(url, error);
  auto& answer = parser.get();
  HttpResponse response = JsonResponse(std::move(answer.body()), answer.result_int());
  const auto type = answer[http::field::content_type];
  response.content_type.assign(type.data(), type.size());
  response.cacheable = false;
  co_return response;
}

}  // namespace

net::awaitable<Answer> AskPeer(PeerOptions options, PeerRequest request) {
  const std::string& server = request.server;
  const std::optional<NodeUrl> url = ParseNodeUrl(server);
  if (!url)
    co_return absl::InvalidArgumentError(
        fmt::format("'{}' is no http://HOST:PORT or https://HOST:PORT", server));
  error_code error;
  const auto into = [&error] { return net::redirect_error(net::use_awaitable, error); };
  const auto executor = co_await net::this_coro::executor;
  net::ip::tcp::resolver resolver(executor);
  const auto addresses = co_await resolver.async_resolve(url->host, url->port, into());
  if (error) co_return NoAnswer(server, error);

  const Request message = MessageOf(options, *url, request);
  net::ssl::context tls(net::ssl::context::tls_client);
  if (url->tls) {
    absl::Status verified = VerifyServer(options, *url, tls);
    if (!verified.ok()) co_return verified;
  }
  beast::ssl_stream<beast::tcp_stream> stream(executor, tls);
  beast::tcp_stream& plain = beast::get_lowest_layer(stream);
  plain.expires_after(options.time);
  co_await plain.async_connect(addresses, into());
  if (error) co_return NoAnswer(server, error);
  if (!url->tls) co_return co_await Exchange(plain, message, server);
  SSL_set_tlsext_host_name(stream.native_handle(), url->host.c_str());
  co_await stream.async_handshake(net::ssl::stream_base::client, into());
  if (error) co_return NoAnswer(server, error);
  co_return co_await Exchange(stream, message, server);
}

Answer WaitForPeer(const PeerOptions& options, PeerRequest request,
                   const std::function<bool()>& goes_on) {
  const std::string server = request.server;
  net::io_context io(1);
  std::optional<Answer> response;
  net::co_spawn(io, AskPeer(options, std::move(request)),
                [&](const std::exception_ptr& failure, Answer answer) {
                  response = failure == nullptr
                                 ? std::move(answer)
                                 : absl::InternalError("asking ended by an exception");
                });
  // A name is resolved without a deadline of its own: this one holds for all.
  const auto deadline = std::chrono::steady_clock::now() + 2 * options.time;
  while (!response) {
    if (!goes_on()) return absl::CancelledError("stopped");
    if (std::chrono::steady_clock::now() > deadline)
      return absl::UnavailableError(fmt::format("{} does not answer in time", server));
    io.run_one_for(kAskEvery);
  }
  return *std::move(response);
}

}  // namespace eroica::rest
