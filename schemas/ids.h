// Strong types for the identities that Eroica speaks of, so that a rank is never taken for a
// communicator.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace eroica {

template <typename Tag, typename Rep>
struct StrongId {
  Rep value{};

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(std::move(v)) {}
  friend auto operator<=>(const StrongId&, const StrongId&) = default;
  friend bool operator==(const StrongId&, const StrongId&) = default;
};

using JobId = StrongId<struct JobTag, std::string>;
using RankId = StrongId<struct RankTag, uint32_t>;  // global rank within the job
using CommId = StrongId<struct CommTag, uint64_t>;  // equal on all members of a communicator
// hash of class and whole call stack, see function.h
using FunctionId = StrongId<struct FunctionTag, uint64_t>;

}  // namespace eroica

template <typename Tag, typename Rep>
struct std::hash<eroica::StrongId<Tag, Rep>> {
  size_t operator()(const eroica::StrongId<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
