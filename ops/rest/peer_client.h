// One request to a server over HTTP or HTTPS and its answer, as a coroutine: a node asks others on
// its own thread (session.h), programs wait for the answer (http_client.cc,
// node_client.cc).
#pragma once

#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>  // Boost 1.74's awaitable.hpp needs it

#include "ops/rest/response.h"
#include "ops/rest/server.h"

namespace eroica::rest {

namespace peer_detail {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

inline absl::Status NoAnswer(const std::string& url, const error_code& error) {
  return absl::UnavailableError(fmt::format("{} does not answer: {}", url, error.message()));
}

template <typename Stream, typename Body>
net::awaitable<absl::StatusOr<HttpResponse>> Exchange(Stream& stream,
                                                      const http::request<Body>& request,
                                                      const std::string& url) {
  constexpr uint64_t kBodyMax = uint64_t{64} << 20;
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

}  // namespace peer_detail

// What the server at http://HOST:PORT or https://HOST:PORT answers; Host and Authorization are
// added. kInvalidArgument: the URL is none, or the CA file cannot be used; kUnavailable: no answer
// came in time.
template <typename Body>
boost::asio::awaitable<absl::StatusOr<HttpResponse>> SendRequest(
    const PeerOptions& options, const std::string& server_url,
    boost::beast::http::request<Body> request) {
  namespace net = boost::asio;
  namespace beast = boost::beast;
  namespace http = beast::http;
  const std::optional<NodeUrl> url = ParseNodeUrl(server_url);
  if (!url)
    co_return absl::InvalidArgumentError(
        fmt::format("'{}' is no http://HOST:PORT or https://HOST:PORT", server_url));
  boost::system::error_code error;
  const auto into = [&error] { return net::redirect_error(net::use_awaitable, error); };
  const auto executor = co_await net::this_coro::executor;
  net::ip::tcp::resolver resolver(executor);
  const auto addresses = co_await resolver.async_resolve(url->host, url->port, into());
  if (error) co_return peer_detail::NoAnswer(server_url, error);

  request.set(http::field::host,
              url->host.find(':') == std::string::npos ? url->host : "[" + url->host + "]");
  if (!options.token.empty()) request.set(http::field::authorization, "Bearer " + options.token);
  request.keep_alive(false);

  net::ssl::context tls(net::ssl::context::tls_client);
  if (url->tls) {
    tls.set_default_verify_paths(error);
    if (!options.ca_certificate.empty()) tls.load_verify_file(options.ca_certificate, error);
    if (error)
      co_return absl::InvalidArgumentError(fmt::format("cannot use the CA certificate {}: {}",
                                                       options.ca_certificate, error.message()));
    tls.set_verify_mode(net::ssl::verify_peer);
    tls.set_verify_callback(net::ssl::host_name_verification(url->host));
  }
  beast::ssl_stream<beast::tcp_stream> stream(executor, tls);
  beast::tcp_stream& plain = beast::get_lowest_layer(stream);
  plain.expires_after(options.time);
  co_await plain.async_connect(addresses, into());
  if (error) co_return peer_detail::NoAnswer(server_url, error);
  if (!url->tls) co_return co_await peer_detail::Exchange(plain, request, server_url);
  SSL_set_tlsext_host_name(stream.native_handle(), url->host.c_str());
  co_await stream.async_handshake(net::ssl::stream_base::client, into());
  if (error) co_return peer_detail::NoAnswer(server_url, error);
  co_return co_await peer_detail::Exchange(stream, request, server_url);
}

// GET target of the node. Errors as SendRequest's.
inline boost::asio::awaitable<absl::StatusOr<HttpResponse>> AskPeer(const PeerOptions& options,
                                                                    const std::string& node_url,
                                                                    const std::string& target) {
  namespace http = boost::beast::http;
  http::request<http::empty_body> request(http::verb::get, target, 11);
  if (options.as_node) request.set("Eroica-Forwarded", "1");
  co_return co_await SendRequest(options, node_url, std::move(request));
}

}  // namespace eroica::rest
