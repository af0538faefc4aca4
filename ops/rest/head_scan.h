// Finds where the head of an HTTP message ends, and counts its bytes and lines before a parser
// makes objects of them. Pure; one thread.
#pragma once

#include <algorithm>
#include <string_view>

#include "ops/rest/message_fault.h"

namespace eroica::rest {

class HeadScan {
 public:
  explicit HeadScan(const MessageLimits& limits) : limits_(limits) {}

  // The bytes that came next; answers how many of them belong to the head.
  size_t Take(std::string_view bytes) {
    size_t taken = 0;
    while (taken < bytes.size() && !ended_ && !fault()) {
      const char c = bytes[taken++];
      ++bytes_;
      matched_ = c == kEnd[matched_] ? matched_ + 1 : (c == '\r' ? 1 : 0);
      if (c == '\n') ++lines_;
      ended_ = matched_ == kEnd.size();
    }
    return taken;
  }

  bool ended() const { return ended_; }
  bool fault() const { return bytes_ > limits_.head_bytes || lines_ > limits_.head_lines + 2; }
  MessageError error() const {
    if (bytes_ > limits_.head_bytes)
      return {MessageFault::kHeadTooLarge, "the headers are too large"};
    if (fault()) return {MessageFault::kHeadTooLarge, "there are too many headers"};
    return {};
  }

 private:
  static constexpr std::string_view kEnd = "\r\n\r\n";

  const MessageLimits limits_;
  size_t bytes_ = 0;
  size_t lines_ = 0;    // the start line and the empty one among them
  size_t matched_ = 0;  // characters of kEnd
  bool ended_ = false;
};

}  // namespace eroica::rest
