// Reads HTTP/1.1 messages from a stream of Asio, requests and answers by the same code. Beast's
// parser makes headers of a head that is bounded before; the body is BodyReader's, because Beast
// (1.74) reports some malformed messages by an exception out of its read operation. For session.h
// and peer_client.cc alone.
#pragma once

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <string>
#include <string_view>
#include <utility>  // Boost 1.74's awaitable.hpp needs it

#include "ops/rest/body_reader.h"
#include "ops/rest/head_scan.h"

namespace eroica::rest {

// The header alone: a parser of this kind never sees a byte of the body.
template <bool kIsRequest>
using HeadParser = boost::beast::http::parser<kIsRequest, boost::beast::http::empty_body>;

inline constexpr size_t kReadBytes = 16'384;

inline std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

inline std::string_view View(const boost::beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

// More bytes of the connection behind those that are in the buffer.
template <typename Stream>
boost::asio::awaitable<MessageError> ReadMore(Stream& stream, boost::beast::flat_buffer& buffer,
                                              size_t bytes) {
  boost::system::error_code error;
  const size_t read = co_await stream.async_read_some(
      buffer.prepare(bytes), boost::asio::redirect_error(boost::asio::use_awaitable, error));
  buffer.commit(read);
  if (!error) co_return MessageError{};
  const MessageFault fault = error == boost::beast::error::timeout ? MessageFault::kSlow
                             : error == boost::asio::error::eof    ? MessageFault::kEnded
                                                                   : MessageFault::kGone;
  co_return MessageError{fault, error.message()};
}

// Gives the parser what is the head's of these bytes. Consumed: what the parser is through with.
template <bool kIsRequest>
MessageError ParseHead(std::string_view head, bool ended, HeadParser<kIsRequest>& parser,
                       size_t* consumed) {
  namespace http = boost::beast::http;
  boost::system::error_code error;
  *consumed = parser.put(boost::asio::buffer(head.data(), head.size()), error);
  if (error == http::error::need_more && !ended) return {};
  if (error == http::error::header_limit)
    return {MessageFault::kHeadTooLarge, "the headers are too large"};
  if (error) return {MessageFault::kMalformed, error.message()};
  if (!parser.is_done() || !ended || *consumed != head.size())
    return {MessageFault::kMalformed, "the headers do not end where they should"};
  return {};
}

// Until the head has come; what follows it stays in the buffer. before_wait: called once, before
// the first wait for the connection.
template <bool kIsRequest, typename Stream, typename BeforeWait>
boost::asio::awaitable<MessageError> ReadHead(Stream& stream, boost::beast::flat_buffer& buffer,
                                              const MessageLimits& limits,
                                              HeadParser<kIsRequest>& parser,
                                              BeforeWait before_wait) {
  parser.skip(true);
  parser.header_limit(static_cast<uint32_t>(std::min<size_t>(limits.head_bytes, UINT32_MAX)));
  HeadScan scan(limits);
  size_t scanned = 0;  // of the buffer
  for (bool waited = false;;) {
    scanned += scan.Take(View(buffer).substr(scanned));
    if (scan.fault()) co_return scan.error();
    size_t consumed = 0;
    if (scanned > 0) {
      MessageError error =
          ParseHead<kIsRequest>(View(buffer).substr(0, scanned), scan.ended(), parser, &consumed);
      if (error) co_return error;
    }
    buffer.consume(consumed);
    scanned -= consumed;
    if (scan.ended()) co_return MessageError{};
    if (!std::exchange(waited, true)) before_wait();
    MessageError error = co_await ReadMore(stream, buffer, kReadBytes);
    if (error) co_return error;
  }
}

// Headers that are one value: two of them are read in two ways.
template <bool kIsRequest>
MessageError CheckSingleHeaders(const HeadParser<kIsRequest>& parser) {
  for (const char* name : {"Host", "Authorization", "Content-Length", "Transfer-Encoding",
                           "Content-Type", "Expect", "Last-Event-ID", "Eroica-Forwarded"}) {
    if (parser.get().count(name) > 1)
      return {MessageFault::kMalformed, std::string("there is more than one header ") + name};
  }
  return {};
}

// How the body that follows this head is delimited (RFC 9112, 6).
template <bool kIsRequest>
MessageError FramingOf(const HeadParser<kIsRequest>& parser, BodyFraming* framing) {
  namespace http = boost::beast::http;
  const auto& message = parser.get();
  if (MessageError error = CheckSingleHeaders<kIsRequest>(parser)) return error;
  const bool has_length = message.count(http::field::content_length) > 0;
  const std::string_view length = View(message[http::field::content_length]);
  if (has_length && length.find_first_not_of("0123456789") != std::string_view::npos)
    return {MessageFault::kMalformed, "the Content-Length is no number"};
  *framing = {.kind = BodyFraming::Kind::kLength, .length = parser.content_length().value_or(0)};
  if (message.count(http::field::transfer_encoding) > 0) {
    // A message of two lengths is read in two ways, and so is a coding that is not known here.
    if (has_length || message.version() < 11 ||
        !boost::beast::iequals(message[http::field::transfer_encoding], "chunked"))
      return {MessageFault::kMalformed, "the Transfer-Encoding is not \"chunked\" alone"};
    framing->kind = BodyFraming::Kind::kChunked;
  } else if (!kIsRequest && !has_length) {
    framing->kind = BodyFraming::Kind::kToEnd;
  }
  return {};
}

// The body into the reader; what follows it stays in the buffer.
template <typename Stream>
boost::asio::awaitable<MessageError> ReadBody(Stream& stream, boost::beast::flat_buffer& buffer,
                                              BodyReader& reader) {
  while (!reader.done() && !reader.error()) {
    buffer.consume(reader.Take(View(buffer)));
    if (reader.done() || reader.error()) break;
    MessageError error = co_await ReadMore(stream, buffer, kReadBytes);
    if (error.fault == MessageFault::kEnded) {
      reader.End();
    } else if (error) {
      co_return error;
    }
  }
  co_return reader.error();
}

}  // namespace eroica::rest
