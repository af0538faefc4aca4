// What an input states of ranks and steps, as types that only a fallible function makes: a number
// that no job can have never gets behind the reader that saw it. Pure; any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/ids.h"

namespace eroica {

// The number of a training step, 0 .. CodecLimits::kMaxTimeNs. nullopt: no step has it.
std::optional<int64_t> StepNumber(int64_t stated);

// A global rank, or a rank within a group; -1 where the number is none of the largest job that
// there may be (CodecLimits::kRanks).
int32_t RankOrNone(int64_t stated);

// How many ranks a group or a job has; 0 where the number cannot be one.
uint32_t SizeOrUnknown(int64_t stated);

// The members of a group: global ranks in group order, each named once. Empty: unknown.
class MemberList {
 public:
  MemberList() = default;

  // nullopt: a number is no rank, or stands there twice.
  static std::optional<MemberList> Of(std::span<const int64_t> stated);
  // "[0, 1, 2]", or a text that holds it. Unknown where the writer cut the list short
  // ("[0, 1, ...]"), or where the text holds no number. nullopt: as above.
  static std::optional<MemberList> Parse(std::string_view text);

  const std::vector<uint32_t>& ranks() const { return ranks_; }
  bool empty() const { return ranks_.empty(); }
  size_t size() const { return ranks_.size(); }
  auto begin() const { return ranks_.begin(); }
  auto end() const { return ranks_.end(); }
  friend auto operator<=>(const MemberList&, const MemberList&) = default;

 private:
  friend class World;
  std::vector<uint32_t> ranks_;
};

// The job's number of ranks. What has passed Holds() is an index that the codec takes.
class World {
 public:
  // nullopt: no job has so many ranks, or so few.
  static std::optional<World> OfSize(int64_t stated);

  uint32_t size() const { return size_; }
  bool Holds(int64_t rank) const { return rank >= 0 && rank < int64_t{size_}; }
  // nullopt: the rank is not of this world.
  std::optional<RankId> Rank(int64_t stated) const;
  // The first member that is not of this world.
  std::optional<uint32_t> Outside(const MemberList& members) const;
  // Every rank, ascending.
  MemberList All() const;

 private:
  explicit World(uint32_t size) : size_(size) {}

  uint32_t size_;
};

}  // namespace eroica
