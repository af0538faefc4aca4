// How a key of a scenario file is tied to a member of a struct, with the unit that people write.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "tests/evaluation/score/scenario_key.h"

namespace eroica {

// A member by a function that answers with a reference to it, and its name as simulate::Check calls
// it.
template <typename Target, typename Field>
struct KeyMember {
  std::string_view path;
  Field field;
  using Value = std::remove_reference_t<decltype(std::declval<Field>()(std::declval<Target&>()))>;

  const Value& operator()(const Target& target) const {
    return field(const_cast<Target&>(target));
  }  // read only
  Value& operator()(Target* target) const { return field(*target); }
};

struct KeyWords {
  std::string name;
  std::string unit;
  std::string doc;
};

template <typename Target, typename Field>
FileKey<Target> Start(KeyWords words, const KeyMember<Target, Field>& member) {
  FileKey<Target> key;
  key.name = std::move(words.name);
  key.unit = std::move(words.unit);
  key.doc = std::move(words.doc);
  key.member = std::string(member.path);
  return key;
}

// Whole numbers, flags, strings, shares: as they are.
template <typename Target, typename Field>
FileKey<Target> Plain(KeyWords words, KeyMember<Target, Field> member) {
  using Value = typename KeyMember<Target, Field>::Value;
  FileKey<Target> key = Start(std::move(words), member);
  if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
    key.get = [member](const Target& target) {
      return OptionValue(static_cast<int64_t>(member(target)));
    };
    key.set = [member, name = key.name](Target* target, OptionValue value) {
      const auto number = std::get<int64_t>(value);
      if (!std::in_range<Value>(number)) {
        return absl::InvalidArgumentError(
            fmt::format("{} is {}; it must be between {} and {}", name, number,
                        std::numeric_limits<Value>::min(), std::numeric_limits<Value>::max()));
      }
      member(target) = static_cast<Value>(number);
      return absl::OkStatus();
    };
  } else {
    key.get = [member](const Target& target) { return OptionValue(member(target)); };
    key.set = [member](Target* target, OptionValue value) {
      member(target) = std::get<Value>(std::move(value));
      return absl::OkStatus();
    };
  }
  return key;
}

// A whole number of small units, written as a number of larger ones: nanoseconds as milliseconds,
// bytes as MiB.
template <typename Target, typename Field>
FileKey<Target> Scaled(KeyWords words, double units, KeyMember<Target, Field> member) {
  using Value = typename KeyMember<Target, Field>::Value;
  FileKey<Target> key = Start(std::move(words), member);
  key.get = [member, units](const Target& target) {
    return OptionValue(static_cast<double>(member(target)) / units);
  };
  key.set = [member, units, name = key.name](Target* target, OptionValue value) {
    constexpr double kLimit = 1e18;  // far beyond every range, and within 64 bits
    const double number = std::get<double>(value) * units;
    if (!(number >= 0 && number <= kLimit)) {
      return absl::InvalidArgumentError(fmt::format("{} is {}; it must be between 0 and {}", name,
                                                    std::get<double>(value), kLimit / units));
    }
    member(target) = static_cast<Value>(std::llround(number));
    return absl::OkStatus();
  };
  return key;
}

#define EROICA_MEMBER(Target, path) EROICA_MEMBER_OF(Target, path, #path)
// NOLINTBEGIN(bugprone-macro-parentheses): types and members of a type cannot stand in parentheses
#define EROICA_MEMBER_OF(Target, path, name) \
  MakeKeyMember<Target>(                     \
      name, [](Target & target) -> auto& { return target.path; })
// NOLINTEND(bugprone-macro-parentheses)

template <typename Target, typename Field>
KeyMember<Target, Field> MakeKeyMember(std::string_view path, Field field) {
  return {path, field};
}

}  // namespace eroica
