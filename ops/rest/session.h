// One connection of the server, as a coroutine on the server's thread: reads a request, has it
// answered, writes the answer, and so on. For server.cc alone: Beast takes long to compile.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>  // Boost 1.74's awaitable.hpp needs it
#include <vector>

#include "ops/rest/message_reader.h"
#include "ops/rest/peer_client.h"
#include "ops/rest/problem.h"
#include "ops/rest/resources/finding_json.h"
#include "ops/rest/resources/finding_query.h"
#include "ops/rest/response_head.h"
#include "ops/rest/server_state.h"

namespace eroica::rest {

namespace beast = boost::beast;
namespace http = beast::http;
using net::ip::tcp;
using TcpStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

inline auto Into(error_code& error) { return net::redirect_error(net::use_awaitable, error); }

inline HttpMethod MethodOf(http::verb verb) {
  switch (verb) {
    case http::verb::get: return HttpMethod::kGet;
    case http::verb::head: return HttpMethod::kHead;
    case http::verb::post: return HttpMethod::kPost;
    case http::verb::options: return HttpMethod::kOptions;
    default: return HttpMethod::kOther;
  }
}

// Of "gzip;q=0.5, br" whether gzip is among them and not refused.
inline bool AcceptsGzip(std::string_view accepted) {
  const size_t at = accepted.find("gzip");
  if (at == std::string_view::npos) return false;
  const std::string_view rest = accepted.substr(at, accepted.find(',', at) - at);
  return rest.find("q=0") == std::string_view::npos || rest.find("q=0.") != std::string_view::npos;
}

// Whether one of the tags is the entity's, in either of its forms.
inline bool HasTag(std::string_view tags, std::string_view etag) {
  if (etag.empty() || tags.empty()) return false;
  return tags == "*" || tags.find(etag.substr(0, etag.size() - 1)) != std::string_view::npos;
}

inline RestService::Arrived ArrivedOf(const http::request<http::empty_body>& request,
                                      std::string body, std::string address) {
  const auto header = [&](http::field field) { return std::string(View(request[field])); };
  RestService::Arrived arrived{
      .request = {}, .address = std::move(address), .host = header(http::field::host)};
  HttpRequest& out = arrived.request;
  out.method = MethodOf(request.method());
  out.target = View(request.target());
  out.body = std::move(body);
  out.content_type = header(http::field::content_type);
  out.if_none_match = header(http::field::if_none_match);
  out.last_event_id = View(request["Last-Event-ID"]);
  out.authorization = header(http::field::authorization);
  out.forwarded = !request["Eroica-Forwarded"].empty();
  out.accepts_gzip = AcceptsGzip(View(request[http::field::accept_encoding]));
  return arrived;
}

// What to answer a request with that is none. Nothing: the peer has gone.
inline std::optional<HttpResponse> ProblemOf(const MessageError& error) {
  switch (error.fault) {
    case MessageFault::kNone:
    case MessageFault::kEnded:
    case MessageFault::kGone:
    case MessageFault::kSlow: return std::nullopt;  // whose connection is closed by now
    case MessageFault::kMalformed:
      return Problem(ProblemType::kBadRequest, fmt::format("this is no HTTP/1.1: {}", error.what),
                     "");
    case MessageFault::kHeadTooLarge: return Problem(ProblemType::kHeadersTooLarge, error.what, "");
    case MessageFault::kBodyTooLarge: return Problem(ProblemType::kBodyTooLarge, error.what, "");
  }
  return std::nullopt;
}

// One connection: a request after the other, each answered before the next is read.
template <typename Stream>
class Session {
 public:
  Session(State& state, Stream& stream, std::string address)
      : state_(state), stream_(stream), address_(std::move(address)) {
    handle_ = state_.connections.Add([this] {
      error_code ignored;
      Socket().close(ignored);
    });
  }
  ~Session() { state_.connections.Remove(handle_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  net::awaitable<void> Run() {
    for (size_t served = 0; served < state_.limits.requests_of_connection; ++served) {
      if (!co_await AwaitRequest()) co_return;
      HeadParser<true> parser;
      std::string body;
      MessageError error = co_await ReadRequest(parser, body);
      if (error) {
        co_await Refuse(error);
        co_return;
      }
      const bool keep_alive = parser.get().keep_alive() && !state_.stopping &&
                              served + 1 < state_.limits.requests_of_connection;
      const bool open =
          co_await Respond(ArrivedOf(parser.get(), std::move(body), address_), keep_alive);
      if (!open || !keep_alive) co_return;
    }
  }

 private:
  tcp::socket& Socket() { return beast::get_lowest_layer(stream_).socket(); }
  void ExpiresAfter(milliseconds time) { beast::get_lowest_layer(stream_).expires_after(time); }

  // Idle until the first byte of a request. False: nothing will come.
  net::awaitable<bool> AwaitRequest() {
    if (buffer_.size() > 0) co_return true;
    constexpr size_t kFirstRead = 4'096;
    state_.connections.SetIdle(handle_, true);
    ExpiresAfter(state_.limits.idle_time);
    error_code error;
    const size_t read = co_await stream_.async_read_some(buffer_.prepare(kFirstRead), Into(error));
    state_.connections.SetIdle(handle_, false);
    buffer_.commit(read);
    co_return !error;
  }

  net::awaitable<MessageError> ReadRequest(HeadParser<true>& parser, std::string& body) {
    // What has come is mostly the whole request: no operation, no timer.
    MessageError error = co_await ReadHead<true>(stream_, buffer_, state_.message, parser, [this] {
      ExpiresAfter(state_.limits.header_time);
    });
    BodyFraming framing;
    if (!error) error = FramingOf<true>(parser, &framing);
    if (error) co_return error;
    BodyReader reader(framing, state_.message);
    if (!reader.done() && !reader.error()) {
      ExpiresAfter(state_.limits.body_time);
      if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
        constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
        error_code written;
        co_await net::async_write(stream_, net::buffer(kContinue), Into(written));
        if (written) co_return MessageError{MessageFault::kGone, written.message()};
      }
    }
    error = co_await ReadBody(stream_, buffer_, reader);
    body = reader.TakeBody();
    co_return error;
  }

  net::awaitable<void> Refuse(const MessageError& error) {
    std::optional<HttpResponse> problem = ProblemOf(error);
    if (problem || error.fault == MessageFault::kSlow) {
      const MutexLock lock(state_.mutex);
      ++state_.probe.malformed;
    }
    if (!problem) co_return;
    co_await Write(*Finish(*std::move(problem)), {.keep_alive = false}, true);
  }

  // False: the connection is at its end.
  net::awaitable<bool> Respond(RestService::Arrived arrived, bool keep_alive) {
    const bool with_body = arrived.request.method != HttpMethod::kHead;
    const bool accepts_gzip = arrived.request.accepts_gzip;
    const std::string tags = arrived.request.if_none_match;
    PreparedRequest prepared;
    CachedPtr response = state_.service.Prepare(std::move(arrived), steady_clock::now(), &prepared);
    if (response == nullptr && prepared.match.route->stream) {
      response = Finish(prepared.match.route->handler(prepared.request, prepared.match.arguments));
      if (response->response.status == 200) {
        co_await StreamFindings(prepared);
        co_return false;
      }
    } else if (response == nullptr) {
      response = co_await AnswerSomewhere(std::move(prepared));
    }
    const bool gzip = accepts_gzip && response->gzip != nullptr;
    const bool not_modified = HasTag(tags, response->etag);
    co_return co_await Write(*response,
                             {.gzip = gzip, .not_modified = not_modified, .keep_alive = keep_alive},
                             with_body && !not_modified);
  }

  net::awaitable<absl::StatusOr<HttpResponse>> AskNode(const KnownNode& node, std::string target) {
    PeerRequest request{.server = node.url, .target = std::move(target)};
    request.headers.emplace_back("Eroica-Forwarded", "1");
    return AskPeer(state_.peers, std::move(request));
  }

  // Here, or by the node that has the job, or with what all nodes say.
  net::awaitable<CachedPtr> AnswerSomewhere(PreparedRequest prepared) {
    const Placement placement = state_.service.PlacementOf(prepared);
    if (placement == Placement::kElsewhere) {
      CachedPtr response = co_await AskOwner(prepared);
      if (response != nullptr) co_return response;
    }
    if (placement == Placement::kOnAllNodes) {
      for (const KnownNode& node : state_.service.Others()) {
        const auto answer = co_await AskNode(node, prepared.request.target);
        OthersAnswer others{.node = node.name, .body = std::nullopt};
        if (answer.ok() && answer->status == 200) others.body = *answer->body;
        prepared.request.others.push_back(std::move(others));
      }
    }
    if (placement == Placement::kHereOnceProgressIsKnown) co_await AskProgress(prepared);
    co_return co_await AnswerInPool(std::move(prepared));
  }

  net::awaitable<void> AskProgress(PreparedRequest& prepared) {
    const std::string& job = prepared.match.arguments.at("job");
    const std::string newest = "/v1/jobs/" + EncodeComponent(job) + "/windows?limit=1";
    for (const KnownNode& node : state_.OthersLikeliestFirst(job)) {
      const auto answer = co_await AskNode(node, newest);
      if (!answer.ok() || answer->status != 200) continue;
      state_.KeepOwner(job, node.name);
      prepared.request.others.push_back({.node = node.name, .body = *answer->body});
      co_return;
    }
  }

  // nullptr: no node has the job.
  net::awaitable<CachedPtr> AskOwner(const PreparedRequest& prepared) {
    const std::string& job = prepared.match.arguments.at("job");
    std::string silent;
    std::string restoring;
    for (const KnownNode& node : state_.OthersLikeliestFirst(job)) {
      const auto known = co_await AskNode(node, "/v1/jobs/" + EncodeComponent(job));
      if (!known.ok()) silent = node.name;
      if (known.ok() && known->status == 503) restoring = node.name;
      if (!known.ok() || known->status != 200) continue;
      state_.KeepOwner(job, node.name);
      auto answer = co_await AskNode(node, prepared.request.target);
      if (answer.ok()) co_return Finish(*std::move(answer));
      silent = node.name;
    }
    if (!restoring.empty())
      co_return Finish(Problem(
          ProblemType::kUnavailable,
          fmt::format("the node {} is not ready and may have the job: ask again", restoring),
          prepared.request.target));
    if (silent.empty()) co_return nullptr;
    co_return Finish(
        Problem(ProblemType::kBadGateway,
                fmt::format("the node {} did not answer, which may have the job", silent),
                prepared.request.target));
  }

  // On a thread of the pool, so that the others are served meanwhile.
  net::awaitable<CachedPtr> AnswerInPool(PreparedRequest prepared) {
    if (state_.answers_in_work >= state_.limits.answers_in_work)
      co_return Finish(Problem(ProblemType::kUnavailable, "too many answers are being made",
                               prepared.request.target));
    const auto work = std::make_shared<AnswerInWork>(state_, co_await net::this_coro::executor,
                                                     std::move(prepared));
    const OpenAnswer counted(state_);
    net::post(state_.pool, [work] { MakeAnswer(work); });
    error_code cancelled;
    co_await work->done.async_wait(Into(cancelled));
    if (work->response != nullptr) co_return work->response;
    co_return Finish(Problem(ProblemType::kInternal,
                             "making the answer failed: the node's log says why",
                             work->prepared.request.target));
  }

  net::awaitable<bool> Write(const CachedResponse& cached, HeadOptions options, bool with_body) {
    options.date = state_.Date();
    const std::string head = ResponseHead(cached, options);
    const auto& body = options.gzip ? cached.gzip : cached.response.body;
    std::array<net::const_buffer, 2> buffers{net::buffer(head), {}};
    if (with_body && body != nullptr) buffers[1] = net::buffer(*body);
    state_.Count(options.not_modified ? 304 : cached.response.status);
    error_code error;
    const size_t written = WriteAtOnce(buffers, error);
    if (error || written == net::buffer_size(buffers)) co_return !error;
    beast::buffers_suffix<std::array<net::const_buffer, 2>> rest(buffers);
    rest.consume(written);
    ExpiresAfter(state_.limits.write_time);
    co_await net::async_write(stream_, rest, Into(error));
    co_return !error;
  }

  // What the kernel takes without waiting, which is mostly all: no operation, no timer.
  size_t WriteAtOnce(const std::array<net::const_buffer, 2>& buffers, error_code& error) {
    if constexpr (std::is_same_v<Stream, TcpStream>) {
      if (!Socket().non_blocking()) Socket().non_blocking(true, error);
      const size_t written = error ? 0 : Socket().write_some(buffers, error);
      if (error == net::error::would_block) error = {};
      return written;
    }
    return 0;
  }

  // Until the peer has gone or the server stops. What came before somebody subscribed is sent where
  // it says which was the last event that it has seen.
  net::awaitable<void> StreamFindings(const PreparedRequest& prepared) {
    const FindingIndex& index = *state_.service.sources().findings;
    Parameters parameters(prepared.request, prepared.match.arguments);
    const FindingQuery query = ReadStreamQuery(parameters);
    const FindingView view = ReadFindingView(parameters);
    uint64_t seen = index.version();
    FindingPosition position = index.position();
    std::vector<FindingPtr> changed;
    if (!prepared.request.last_event_id.empty())
      changed = index.ChangedSince(*ParsePosition(prepared.request.last_event_id));
    net::steady_timer timer(co_await net::this_coro::executor);
    std::string text = EventStreamHead(state_.Date());
    state_.Count(200);
    const OpenStream counted(state_);
    while (!state_.stopping) {
      for (const FindingPtr& finding : changed) {
        if (!Matches(*finding, query)) continue;
        text += "event: finding\n";
        // Only what is behind all of them says that they have been seen.
        if (finding == changed.back()) text += fmt::format("id: {}\n", PositionText(position));
        text += fmt::format("data: {}\n\n", ShownFinding(*finding, view));
      }
      error_code error;
      ExpiresAfter(state_.limits.write_time);
      if (!text.empty()) co_await net::async_write(stream_, net::buffer(text), Into(error));
      if (error) co_return;
      text.clear();
      // What changed meanwhile has woken nobody.
      if (index.version() == seen && !co_await AwaitChange(timer)) text = ": still here\n\n";
      const uint64_t now = index.version();
      position = index.position();
      changed = index.ChangedSince(seen);
      seen = changed.empty() ? now : std::max(now, changed.back()->sequence);
    }
  }

  // False: nothing has changed for as long as a stream is silent.
  net::awaitable<bool> AwaitChange(net::steady_timer& timer) {
    error_code woken;
    timer.expires_after(state_.limits.event_heartbeat);
    const WaitingStream waiting(state_, timer);
    co_await timer.async_wait(Into(woken));
    co_return bool(woken);
  }

  State& state_;
  Stream& stream_;
  const std::string address_;
  beast::flat_buffer buffer_;  // holds a head and one read at most
  ConnectionTable::Handle handle_;
};

}  // namespace eroica::rest
