#include "producers/import/stated_numbers.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "schemas/codec.h"

namespace eroica {
namespace {

constexpr int64_t kRanksMax = CodecLimits::kRanks;

bool BeginsANumber(char c) { return (c >= '0' && c <= '9') || c == '-'; }

bool NamesOneTwice(std::vector<uint32_t> ranks) {
  std::ranges::sort(ranks);
  return std::ranges::adjacent_find(ranks) != ranks.end();
}

}  // namespace

std::optional<int64_t> StepNumber(int64_t stated) {
  return stated >= 0 && stated <= CodecLimits::kMaxTimeNs ? std::optional(stated) : std::nullopt;
}

int32_t RankOrNone(int64_t stated) {
  return stated >= 0 && stated < kRanksMax ? static_cast<int32_t>(stated) : -1;
}

uint32_t SizeOrUnknown(int64_t stated) {
  return stated > 0 && stated <= kRanksMax ? static_cast<uint32_t>(stated) : 0;
}

std::optional<MemberList> MemberList::Of(std::span<const int64_t> stated) {
  MemberList members;
  for (const int64_t rank : stated) {
    if (RankOrNone(rank) < 0) return std::nullopt;
    members.ranks_.push_back(static_cast<uint32_t>(rank));
  }
  if (NamesOneTwice(members.ranks_)) return std::nullopt;
  return members;
}

std::optional<MemberList> MemberList::Parse(std::string_view text) {
  if (text.find("...") != std::string_view::npos) return MemberList();
  std::vector<int64_t> stated;
  size_t at = 0;
  while (at < text.size()) {
    if (!BeginsANumber(text[at])) {
      ++at;
      continue;
    }
    int64_t rank = -1;
    const auto [rest, error] = std::from_chars(text.data() + at, text.data() + text.size(), rank);
    if (error != std::errc()) return std::nullopt;
    stated.push_back(rank);
    at = static_cast<size_t>(rest - text.data());
  }
  return Of(stated);
}

std::optional<World> World::OfSize(int64_t stated) {
  const uint32_t size = SizeOrUnknown(stated);
  return size > 0 ? std::optional(World(size)) : std::nullopt;
}

std::optional<RankId> World::Rank(int64_t stated) const {
  return Holds(stated) ? std::optional(RankId(static_cast<uint32_t>(stated))) : std::nullopt;
}

std::optional<uint32_t> World::Outside(const MemberList& members) const {
  const auto outside =
      std::ranges::find_if(members, [this](uint32_t rank) { return !Holds(rank); });
  return outside != members.end() ? std::optional(*outside) : std::nullopt;
}

MemberList World::All() const {
  MemberList members;
  members.ranks_.resize(size_);
  std::iota(members.ranks_.begin(), members.ranks_.end(), 0u);
  return members;
}

}  // namespace eroica
