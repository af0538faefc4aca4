// Asks another node for what this one does not have, as a coroutine on the server's thread. For
// session.h alone, as that is for server.cc.
#pragma once

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

template <typename Stream>
net::awaitable<std::optional<HttpResponse>> Exchange(
    Stream& stream, const http::request<http::empty_body>& request) {
  constexpr uint64_t kBodyMax = uint64_t{64} << 20;
  error_code error;
  co_await http::async_write(stream, request, net::redirect_error(net::use_awaitable, error));
  if (error) co_return std::nullopt;
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kBodyMax);
  co_await http::async_read(stream, buffer, parser, net::redirect_error(net::use_awaitable, error));
  if (error) co_return std::nullopt;
  auto& answer = parser.get();
  HttpResponse response = JsonResponse(std::move(answer.body()), answer.result_int());
  const auto type = answer[http::field::content_type];
  response.content_type.assign(type.data(), type.size());
  response.cacheable = false;
  co_return response;
}

}  // namespace peer_detail

// GET target of the node; nothing where it gives no answer in time.
inline boost::asio::awaitable<std::optional<HttpResponse>> AskPeer(const PeerOptions& options,
                                                                   const std::string& node_url,
                                                                   const std::string& target) {
  namespace net = boost::asio;
  namespace beast = boost::beast;
  namespace http = beast::http;
  const std::optional<NodeUrl> url = ParseNodeUrl(node_url);
  if (!url) co_return std::nullopt;
  boost::system::error_code error;
  const auto into = [&error] { return net::redirect_error(net::use_awaitable, error); };
  const auto executor = co_await net::this_coro::executor;
  net::ip::tcp::resolver resolver(executor);
  const auto addresses = co_await resolver.async_resolve(url->host, url->port, into());
  if (error) co_return std::nullopt;

  http::request<http::empty_body> request(http::verb::get, target, 11);
  request.set(http::field::host,
              url->host.find(':') == std::string::npos ? url->host : "[" + url->host + "]");
  request.set("Eroica-Forwarded", "1");
  if (!options.token.empty()) request.set(http::field::authorization, "Bearer " + options.token);
  request.keep_alive(false);

  net::ssl::context tls(net::ssl::context::tls_client);
  if (url->tls) {
    tls.set_default_verify_paths(error);
    if (!options.ca_certificate.empty()) tls.load_verify_file(options.ca_certificate, error);
    if (error) co_return std::nullopt;
    tls.set_verify_mode(net::ssl::verify_peer);
    tls.set_verify_callback(net::ssl::host_name_verification(url->host));
  }
  beast::ssl_stream<beast::tcp_stream> stream(executor, tls);
  beast::tcp_stream& plain = beast::get_lowest_layer(stream);
  plain.expires_after(options.time);
  co_await plain.async_connect(addresses, into());
  if (error) co_return std::nullopt;
  if (!url->tls) co_return co_await peer_detail::Exchange(plain, request);
  SSL_set_tlsext_host_name(stream.native_handle(), url->host.c_str());
  co_await stream.async_handshake(net::ssl::stream_base::client, into());
  if (error) co_return std::nullopt;
  co_return co_await peer_detail::Exchange(stream, request);
}

}  // namespace eroica::rest
