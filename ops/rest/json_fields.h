// Members of a JSON document that somebody else wrote: what is missing or of another type reads as
// nothing. Pure functions, any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace eroica {

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
