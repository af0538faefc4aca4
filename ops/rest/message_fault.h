// Why a message of HTTP/1.1 was not taken, whether it is a request or an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace eroica::rest {

enum class MessageFault : uint8_t {
  kNone = 0,
  kEnded = 1,  // the peer closed the connection before the message ended
  kGone = 2,   // the connection is lost
  kSlow = 3,   // it did not come whole in time
  kMalformed = 4,
  kHeadTooLarge = 5,  // of head_bytes, head_lines or trailer_bytes
  kBodyTooLarge = 6,
};

struct MessageError {
  MessageFault fault = MessageFault::kNone;
  std::string what;  // a clause: "a chunk's size is no number"

  explicit operator bool() const { return fault != MessageFault::kNone; }
};

// No part of a message takes more memory than this, whatever lengths it declares.
struct MessageLimits {
  size_t head_bytes = 16'384;
  size_t head_lines = 100;  // headers, folded lines among them
  size_t body_bytes = 65'536;
  size_t trailer_bytes = 8'192;          // behind a chunked body; they are not kept
  size_t chunk_extension_bytes = 4'096;  // of all chunks; they are not kept
};

}  // namespace eroica::rest
