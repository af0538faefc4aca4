// The body of an HTTP message out of the bytes of its connection: of a declared length, in chunks,
// or up to the connection's end. Memory grows with what has come, never with what is declared;
// chunk extensions and trailers are counted against their limits and dropped, so that no trailer is
// ever taken for a header. Pure: throws nothing but std::bad_alloc. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "ops/rest/message_fault.h"

namespace eroica::rest {

struct BodyFraming {
  enum class Kind : uint8_t { kLength = 0, kChunked = 1, kToEnd = 2 };
  Kind kind = Kind::kLength;
  uint64_t length = 0;  // of kLength
};

class BodyReader {
 public:
  BodyReader(const BodyFraming& framing, const MessageLimits& limits);

  // The bytes that came next; answers how many of them belong to this message. Not once done() or
  // error().
  size_t Take(std::string_view bytes);
  // The peer has closed the connection.
  void End();

  bool done() const { return state_ == State::kDone; }
  const MessageError& error() const { return error_; }
  std::string TakeBody() { return std::move(body_); }

 private:
  enum class State : uint8_t {
    kLength,
    kToEnd,
    kSize,
    kExtension,
    kSizeEnd,
    kData,
    kDataReturn,
    kDataEnd,
    kTrailerStart,
    kTrailer,
    kTrailerEnd,
    kLastEnd,
    kDone,
  };

  size_t TakeData(std::string_view bytes);
  // One character of what stands around the data of chunks.
  State Next(char c);
  State TakeSize(char c);
  State Expect(char c, char expected, State then);
  bool CountLine(char c, size_t most, size_t* count);
  State Fail(MessageFault fault, std::string what);

  const MessageLimits limits_;
  State state_;
  uint64_t left_ = 0;  // of the declared length, or of the chunk
  size_t digits_ = 0;  // of the chunk's size
  size_t extension_bytes_ = 0;
  size_t trailer_bytes_ = 0;
  std::string body_;
  MessageError error_;
};

}  // namespace eroica::rest
