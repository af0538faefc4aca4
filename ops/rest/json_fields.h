// Members of a JSON document that somebody else wrote: what is missing or of another type reads as
// nothing. Pure functions, any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace eroica {

// Whether no array or object of the text is inside more than so many others.
inline bool IsJsonWithinDepth(std::string_view text, size_t most) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > most) return false;
    } else if (c == ']' || c == '}') {
      depth -= std::min<size_t>(depth, 1);
    }
  }
  return true;
}

// A document from another process. Discarded (is_discarded) where it is no JSON, or deeper than any
// of ours: to copy, compare and print a tree takes stack for each level.
template <typename Json = nlohmann::json>
Json ParseForeignJson(std::string_view text) {
  constexpr size_t kDepthMost = 64;
  if (!IsJsonWithinDepth(text, kDepthMost)) return Json(nlohmann::detail::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

// null where it is no object or has no such member. Lives as long as the object.
inline const nlohmann::json& MemberOf(const nlohmann::json& object, const std::string& name) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  const auto member = object.find(name);
  return member == object.end() ? kNull : *member;
}

// Of a temporary, also of one that is made of an ordered_json, nothing would be left.
const nlohmann::json& MemberOf(nlohmann::json&& object, const std::string& name) = delete;

inline std::string TextIn(const nlohmann::json& object, const std::string& name) {
  const nlohmann::json& member = MemberOf(object, name);
  return member.is_string() ? member.get<std::string>() : std::string();
}

inline double NumberIn(const nlohmann::json& object, const std::string& name) {
  const nlohmann::json& member = MemberOf(object, name);
  return member.is_number() ? member.get<double>() : 0;
}

// A whole number that the type holds; anything else is 0.
template <typename Number>
Number CountOf(const nlohmann::json& value) {
  const double number = value.is_number() ? value.get<double>() : 0;
  constexpr auto kMost = static_cast<double>(std::numeric_limits<Number>::max());
  constexpr auto kLeast = static_cast<double>(std::numeric_limits<Number>::min());
  const bool holds = number >= kLeast && number < kMost && number == std::floor(number);
  return holds ? static_cast<Number>(number) : Number{0};
}

template <typename Number>
Number CountIn(const nlohmann::json& object, const std::string& name) {
  return CountOf<Number>(MemberOf(object, name));
}

// Nothing for null. Of a file that we wrote: throws nlohmann::json::type_error for anything else
// than a number.
inline std::optional<int64_t> OptionalIntegerOf(const nlohmann::json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<int64_t>());
}

inline bool FlagIn(const nlohmann::json& object, const std::string& name) {
  const nlohmann::json& member = MemberOf(object, name);
  return member.is_boolean() && member.get<bool>();
}

}  // namespace eroica
