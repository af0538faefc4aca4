// Takes a Chrome trace apart while it streams by: one event object at a time, and what the header
// and trailer say. The file is never in memory as a whole: the buffer holds some 1 MiB, or as much
// as the largest single value, at most kMaxValueBytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "producers/import/byte_source.h"

namespace eroica {

// A Chrome trace is {"key": value, ..., "traceEvents": [event, ...], "key": value ...}, or the bare
// array of events. One owner, one thread.
class JsonEventSplitter {
 public:
  static constexpr size_t kMaxValueBytes = size_t{64} << 20;

  enum class Item : uint8_t {
    // value(): one element of traceEvents, as it stands in the file (an object, or whatever else
    // stands there)
    kEvent,
    kMetadata,  // key() and value(): a member beside traceEvents
    kEnd,       // nothing more: see outcome()
  };
  enum class Outcome : uint8_t {
    kComplete,
    kTruncated,  // ended in the middle; everything that was whole has been delivered
    kNoTrace,    // no JSON object or array at all
  };

  explicit JsonEventSplitter(ByteSource& source);

  Item Next();
  // Both live until the next call of Next().
  std::string_view key() const { return key_; }
  std::string_view value() const {
    return {buffer_.data() + value_begin_, value_end_ - value_begin_};
  }

  Outcome outcome() const { return outcome_; }
  // What is wrong, as the end of a sentence; empty where the outcome is kComplete.
  const std::string& complaint() const { return complaint_; }
  bool ended_inside_event() const { return ended_inside_event_; }  // an event was begun and is lost
  bool has_events() const { return saw_events_; }
  uint64_t bytes() const { return bytes_; }  // of content, after decompression

 private:
  enum class State : uint8_t { kStart, kMembers, kEvents, kDone };

  bool
  Fill();  // more bytes behind end_, dropping those before begin_; false at the end of the source
  // The first byte at or behind begin_ that is no white space (nor, where told, a comma) becomes
  // begin_; false at the end of the source.
  bool SkipTo(bool commas);
  bool DelimitValue();  // value_begin_ = begin_, value_end_ behind the value that starts there
  size_t FindValueEnd() const;
  Item NextMember();
  Item NextEvent();
  Item End(Outcome outcome, std::string complaint);
  Item EndTruncated(std::string_view where);

  ByteSource& source_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // what lies before has been delivered
  size_t end_ = 0;
  size_t value_begin_ = 0;
  size_t value_end_ = 0;
  uint64_t bytes_ = 0;
  std::string key_;
  State state_ = State::kStart;
  bool bare_array_ = false;
  bool saw_events_ = false;
  bool ended_inside_event_ = false;
  Outcome outcome_ = Outcome::kComplete;
  std::string complaint_;
};

}  // namespace eroica
