#include "ops/rest/peer_client.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <exception>
#include <string_view>

#include "ops/rest/event_loop.h"
#include "ops/rest/message_reader.h"
#include "schemas/thread_boundary.h"

namespace eroica::rest {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Request = http::request<http::string_body>;
using Answer = absl::StatusOr<HttpResponse>;

// Of an answer: what a server declares reserves no memory, what it sends takes so much at most.
constexpr MessageLimits kLimits{.body_bytes = size_t{64} << 20};
constexpr int kInterimMax = 4;
constexpr std::chrono::milliseconds kAskEvery{100};

absl::Status NoAnswer(const std::string& url, std::string_view why) {
  return absl::UnavailableError(fmt::format("{} does not answer: {}", url, why));
}

std::atomic<uint64_t> peer_exceptions{0};

absl::Status AnswerThrown(const std::string& url, std::string_view what) {
  peer_exceptions.fetch_add(1, std::memory_order_relaxed);
  return NoAnswer(url, what);
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

// The head of the answer itself: interim ones (100 Continue, 103 Early Hints) are passed over.
template <typename Stream>
net::awaitable<MessageError> ReadFinalHead(Stream& stream, beast::flat_buffer& buffer,
                                           std::optional<HeadParser<false>>& parser) {
  for (int interim = 0; interim <= kInterimMax; ++interim) {
    parser.emplace();
    MessageError error = co_await ReadHead<false>(stream, buffer, kLimits, *parser, [] {});
    if (error || parser->get().result_int() >= 200) co_return error;
    if (parser->get().result() == http::status::switching_protocols) break;
  }
  co_return MessageError{MessageFault::kMalformed, "no answer follows the interim ones"};
}

template <typename Stream>
net::awaitable<MessageError> ReadAnswer(Stream& stream, HttpResponse* response) {
  beast::flat_buffer buffer;
  std::optional<HeadParser<false>> parser;
  MessageError error = co_await ReadFinalHead(stream, buffer, parser);
  BodyFraming framing;
  if (!error) error = FramingOf<false>(*parser, &framing);
  if (error) co_return error;
  const auto& head = parser->get();
  if (head.result() == http::status::no_content || head.result() == http::status::not_modified)
    framing = {};
  BodyReader reader(framing, kLimits);
  error = co_await ReadBody(stream, buffer, reader);
  *response = JsonResponse(reader.TakeBody(), static_cast<int>(head.result_int()));
  response->content_type = View(head[http::field::content_type]);
  response->cacheable = false;
  co_return error;
}

template <typename Stream>
net::awaitable<Answer> Exchange(Stream& stream, const Request& request, const std::string& url) {
  error_code error;
  co_await http::async_write(stream, request, net::redirect_error(net::use_awaitable, error));
  if (error) co_return NoAnswer(url, error.message());
  HttpResponse response;
  const MessageError fault = co_await ReadAnswer(stream, &response);
  if (fault) co_return NoAnswer(url, fault.what);
  co_return response;
}

net::awaitable<Answer> Ask(const PeerOptions& options, PeerRequest& request) {
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
  if (error) co_return NoAnswer(server, error.message());

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
  if (error) co_return NoAnswer(server, error.message());
  if (!url->tls) co_return co_await Exchange(plain, message, server);
  SSL_set_tlsext_host_name(stream.native_handle(), url->host.c_str());
  co_await stream.async_handshake(net::ssl::stream_base::client, into());
  if (error) co_return NoAnswer(server, error.message());
  co_return co_await Exchange(stream, message, server);
}

}  // namespace

net::awaitable<Answer> AskPeer(PeerOptions options, PeerRequest request) {
  Thrown thrown;
  try {
    co_return co_await Ask(options, request);
  } catch (...) {
    thrown = Thrown::Current();
  }
  co_return AnswerThrown(request.server, thrown.text());
}

Answer WaitForPeer(const PeerOptions& options, PeerRequest request,
                   const std::function<bool()>& goes_on) {
  const std::string server = request.server;
  net::io_context io(1);
  std::optional<Answer> response;
  net::co_spawn(io, AskPeer(options, std::move(request)),
                [&](const std::exception_ptr& failure, Answer answer) {
                  response = failure == nullptr ? std::move(answer)
                                                : AnswerThrown(server, Thrown::Of(failure).text());
                });
  // A name is resolved without a deadline of its own: this one holds for all.
  const auto deadline = std::chrono::steady_clock::now() + 2 * options.time;
  while (!response) {
    if (!goes_on()) return absl::CancelledError("stopped");
    if (std::chrono::steady_clock::now() > deadline)
      return absl::UnavailableError(fmt::format("{} does not answer in time", server));
    // A handler that threw is gone, and may be the one that had the answer.
    if (absl::Status ran = RunOneHandler(io, kAskEvery); !ran.ok())
      return AnswerThrown(server, std::string(ran.message()));
  }
  return *std::move(response);
}

uint64_t PeerExceptions() { return peer_exceptions.load(std::memory_order_relaxed); }

}  // namespace eroica::rest
