#include "ops/rest/body_reader.h"

#include <algorithm>
#include <optional>

namespace eroica::rest {
namespace {

constexpr size_t kSizeDigitsMax = 16;

std::optional<uint64_t> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint64_t>(c - '0');
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') return static_cast<uint64_t>(lower - 'a' + 10);
  return std::nullopt;
}

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

}  // namespace

BodyReader::BodyReader(const BodyFraming& framing, const MessageLimits& limits)
    : limits_(limits), state_(State::kLength) {
  if (framing.kind == BodyFraming::Kind::kChunked) {
    state_ = State::kSize;
  } else if (framing.kind == BodyFraming::Kind::kToEnd) {
    state_ = State::kToEnd;
  } else if (framing.length > limits_.body_bytes) {
    Fail(MessageFault::kBodyTooLarge, "the body is too large");
  } else {
    left_ = framing.length;
    if (left_ == 0) state_ = State::kDone;
  }
}

size_t BodyReader::Take(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && !done() && !error_) {
    if (state_ == State::kLength || state_ == State::kToEnd || state_ == State::kData) {
      taken += TakeData(bytes.substr(taken));
    } else {
      state_ = Next(bytes[taken++]);
    }
  }
  return taken;
}

size_t BodyReader::TakeData(std::string_view bytes) {
  if (state_ == State::kToEnd) {
    if (bytes.size() > limits_.body_bytes - body_.size()) {
      Fail(MessageFault::kBodyTooLarge, "the body is too large");
      return 0;
    }
    body_.append(bytes);
    return bytes.size();
  }
  const size_t taken = static_cast<size_t>(std::min<uint64_t>(bytes.size(), left_));
  body_.append(bytes.substr(0, taken));
  left_ -= taken;
  if (left_ == 0) state_ = state_ == State::kLength ? State::kDone : State::kDataReturn;
  return taken;
}

void BodyReader::End() {
  if (state_ == State::kToEnd) {
    state_ = State::kDone;
  } else if (!done() && !error_) {
    Fail(MessageFault::kEnded, "the connection ended within the body");
  }
}

auto BodyReader::Next(char c) -> State {
  switch (state_) {
    case State::kSize: return TakeSize(c);
    case State::kExtension:
      if (c == '\r') return State::kSizeEnd;
      if (CountLine(c, limits_.chunk_extension_bytes, &extension_bytes_)) return State::kExtension;
      return Fail(MessageFault::kMalformed, "the extensions of a chunk are malformed or too large");
    case State::kSizeEnd: return Expect(c, '\n', left_ == 0 ? State::kTrailerStart : State::kData);
    case State::kDataReturn: return Expect(c, '\r', State::kDataEnd);
    case State::kDataEnd: digits_ = 0; return Expect(c, '\n', State::kSize);
    case State::kTrailerStart:
    case State::kTrailer:
      if (c == '\r') return state_ == State::kTrailerStart ? State::kLastEnd : State::kTrailerEnd;
      if (CountLine(c, limits_.trailer_bytes, &trailer_bytes_)) return State::kTrailer;
      if (IsControl(c)) return Fail(MessageFault::kMalformed, "a trailer is malformed");
      return Fail(MessageFault::kHeadTooLarge, "the trailers are too large");
    case State::kTrailerEnd: return Expect(c, '\n', State::kTrailerStart);
    case State::kLastEnd: return Expect(c, '\n', State::kDone);
    case State::kLength:
    case State::kToEnd:
    case State::kData:
    case State::kDone: break;
  }
  return state_;
}

auto BodyReader::TakeSize(char c) -> State {
  if (const std::optional<uint64_t> digit = HexDigit(c); digit && digits_ < kSizeDigitsMax) {
    if (digits_++ == 0) left_ = 0;
    left_ = left_ << 4 | *digit;
    if (left_ > limits_.body_bytes - body_.size())
      return Fail(MessageFault::kBodyTooLarge, "the body is too large");
    return State::kSize;
  }
  if (digits_ == 0 || digits_ == kSizeDigitsMax || (c != '\r' && c != ';' && c != ' ' && c != '\t'))
    return Fail(MessageFault::kMalformed, "the size of a chunk is no number");
  if (c == '\r') return State::kSizeEnd;
  ++extension_bytes_;
  return State::kExtension;
}

auto BodyReader::Expect(char c, char expected, State then) -> State {
  return c == expected ? then
                       : Fail(MessageFault::kMalformed, "a chunk does not end where it says");
}

// False: no text, or too many of them.
bool BodyReader::CountLine(char c, size_t most, size_t* count) {
  return !IsControl(c) && ++*count <= most;
}

auto BodyReader::Fail(MessageFault fault, std::string what) -> State {
  error_ = {fault, std::move(what)};
  return state_;
}

}  // namespace eroica::rest
