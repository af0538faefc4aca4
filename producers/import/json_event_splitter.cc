#include "producers/import/json_event_splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "producers/import/json_scan.h"

namespace eroica {
namespace {

constexpr size_t kInitialBufferBytes = size_t{1} << 20;

}  // namespace

JsonEventSplitter::JsonEventSplitter(ByteSource& source)
    : source_(source), buffer_(kInitialBufferBytes + kJsonPadding) {}

bool JsonEventSplitter::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  size_t room = buffer_.size() - kJsonPadding - end_;
  if (room < buffer_.size() / 4) {
    if (buffer_.size() >= kMaxValueBytes) {
      if (room == 0) return false;
    } else {
      buffer_.resize(std::min(kMaxValueBytes, 2 * buffer_.size()) + kJsonPadding);
      room = buffer_.size() - kJsonPadding - end_;
    }
  }
  const size_t read = source_.Read(buffer_.data() + end_, room);
  end_ += read;
  bytes_ += read;
  return read > 0;
}

bool JsonEventSplitter::SkipTo(bool commas) {
  while (true) {
    begin_ = SkipJsonSpace(buffer_.data(), begin_, end_);
    if (begin_ < end_) {
      if (!commas || buffer_[begin_] != ',') return true;
      ++begin_;
      continue;
    }
    if (!Fill()) return false;
  }
}

size_t JsonEventSplitter::FindValueEnd() const {
  const char first = buffer_[begin_];
  if (first == '{' || first == '[') return FindBracketEnd(buffer_.data(), begin_, end_);
  bool escaped = false;
  if (first == '"') return FindStringEnd(buffer_.data(), begin_, end_, &escaped);
  size_t at = begin_;
  while (at < end_ && buffer_[at] != ',' && buffer_[at] != '}' && buffer_[at] != ']' &&
         !IsJsonSpace(buffer_[at]))
    ++at;
  return at < end_ ? at : end_ + 1;
}

bool JsonEventSplitter::DelimitValue() {
  while (true) {
    const size_t value_end = FindValueEnd();
    if (value_end <= end_) {
      value_begin_ = begin_;
      value_end_ = value_end;
      begin_ = value_end;
      return true;
    }
    if (!Fill()) return false;
  }
}

JsonEventSplitter::Item JsonEventSplitter::End(Outcome outcome, std::string complaint) {
  state_ = State::kDone;
  outcome_ = outcome;
  complaint_ = std::move(complaint);
  return Item::kEnd;
}

JsonEventSplitter::Item JsonEventSplitter::EndTruncated(std::string_view where) {
  if (!source_.damage().empty())
    return End(Outcome::kTruncated, fmt::format("{} {}", source_.damage(), where));
  if (end_ - begin_ >= kMaxValueBytes / 2) {
    return End(Outcome::kTruncated, fmt::format("a single value of more than {} MiB stands {}",
                                                kMaxValueBytes >> 20, where));
  }
  return End(Outcome::kTruncated, fmt::format("the JSON ends {}", where));
}

JsonEventSplitter::Item JsonEventSplitter::Next() {
  if (state_ == State::kDone) return Item::kEnd;
  if (state_ == State::kStart) {
    if (!SkipTo(false)) {
      if (!source_.damage().empty()) return End(Outcome::kNoTrace, source_.damage());
      return End(Outcome::kNoTrace,
                 bytes_ == 0 ? "the file is empty" : "the file holds nothing but white space");
    }
    const char first = buffer_[begin_];
    if (first != '{' && first != '[')
      return End(Outcome::kNoTrace, "the file is not JSON: it begins neither with { nor with [");
    bare_array_ = first == '[';
    saw_events_ = bare_array_;
    state_ = bare_array_ ? State::kEvents : State::kMembers;
    ++begin_;
  }
  return state_ == State::kEvents ? NextEvent() : NextMember();
}

JsonEventSplitter::Item JsonEventSplitter::NextMember() {
  if (!SkipTo(true)) return EndTruncated("between two members of the outermost object");
  if (buffer_[begin_] == '}') {
    if (!saw_events_)
      return End(Outcome::kNoTrace, "the JSON object has no member \"traceEvents\"");
    return End(Outcome::kComplete, "");
  }
  if (buffer_[begin_] != '"')
    return End(Outcome::kTruncated,
               "the JSON is broken: a member of the outermost object has no key");
  if (!DelimitValue()) return EndTruncated("inside a key of the outermost object");
  key_.assign(value().substr(1, value().size() - 2));
  if (!SkipTo(false)) return EndTruncated("behind a key of the outermost object");
  if (buffer_[begin_] != ':')
    return End(Outcome::kTruncated,
               fmt::format("the JSON is broken: no colon behind the key \"{}\"", key_));
  ++begin_;
  if (!SkipTo(false)) return EndTruncated("behind a key of the outermost object");
  if (key_ == "traceEvents" && buffer_[begin_] == '[') {
    ++begin_;
    saw_events_ = true;
    state_ = State::kEvents;
    return NextEvent();
  }
  if (!DelimitValue()) return EndTruncated(fmt::format("inside the value of \"{}\"", key_));
  if (value().empty())
    return End(Outcome::kTruncated,
               fmt::format("the JSON is broken: the key \"{}\" has no value", key_));
  return Item::kMetadata;
}

JsonEventSplitter::Item JsonEventSplitter::NextEvent() {
  if (!SkipTo(true)) {
    // The format allows a bare array to lack its closing bracket.
    if (bare_array_ && source_.damage().empty()) return End(Outcome::kComplete, "");
    return EndTruncated("between two events");
  }
  if (buffer_[begin_] == ']') {
    ++begin_;
    if (bare_array_) return End(Outcome::kComplete, "");
    state_ = State::kMembers;
    return NextMember();
  }
  if (buffer_[begin_] == '}')
    return End(Outcome::kTruncated,
               "the JSON is broken: a closing brace stands between two events");
  if (!DelimitValue()) {
    ended_inside_event_ = true;
    return EndTruncated("inside an event");
  }
  if (value().empty())
    return End(Outcome::kTruncated, "the JSON is broken: a colon stands between two events");
  return Item::kEvent;
}

}  // namespace eroica
