// The members of one JSON object, without building a tree. Values are delimited, not checked.
#pragma once

#include <cstddef>
#include <string_view>

#include "producers/import/json_scan.h"

namespace eroica {

// The offset behind the value that starts at `at`, or `end` + 1.
inline size_t FindJsonValueEnd(const char* text, size_t at, size_t end) {
  const char first = text[at];
  if (first == '"') {
    bool escaped = false;
    return FindStringEnd(text, at, end, &escaped);
  }
  if (first == '{' || first == '[') return FindBracketEnd(text, at, end);
  const size_t begin = at;
  while (at < end && text[at] != ',' && text[at] != '}' && text[at] != ']' &&
         !IsJsonSpace(text[at]))
    ++at;
  return at > begin ? at : end + 1;
}

// Calls visit(key, value) for each member, both raw: the key without its quotes, a string value
// with them. False where the object is malformed; members before the flaw have been visited. The
// text must lie within a buffer that goes on for kJsonPadding bytes.
template <typename Visit>
bool VisitJsonMembers(std::string_view object, Visit&& visit) {
  const char* text = object.data();
  const size_t end = object.size();
  if (end < 2 || text[0] != '{') return false;
  size_t at = SkipJsonSpace(text, 1, end);
  if (at < end && text[at] == '}') return at + 1 == end;
  while (at < end && text[at] == '"') {
    bool escaped = false;
    const size_t key_end = FindStringEnd(text, at, end, &escaped);
    if (key_end > end) return false;
    const std::string_view key(text + at + 1, key_end - at - 2);
    at = SkipJsonSpace(text, key_end, end);
    if (at >= end || text[at] != ':') return false;
    at = SkipJsonSpace(text, at + 1, end);
    if (at >= end) return false;
    const size_t value_end = FindJsonValueEnd(text, at, end);
    if (value_end > end) return false;
    visit(key, std::string_view(text + at, value_end - at));
    at = SkipJsonSpace(text, value_end, end);
    if (at >= end) return false;
    if (text[at] == '}') return at + 1 == end;
    if (text[at] != ',') return false;
    at = SkipJsonSpace(text, at + 1, end);
  }
  return false;
}

// "text" -> text; anything but a string as it is.
inline std::string_view Unquoted(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
}

}  // namespace eroica
