#include "diagnosis/hang/hang_victims.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "diagnosis/hang/hang_text.h"
#include "diagnosis/hang/standing_lookup.h"

namespace eroica {
namespace {

constexpr size_t kMostEffects = 12;

// A dump, which holds no steps, does not say until when its rank has stood.
int64_t StallOf(const RankStanding& standing) {
  return standing.timed_out && standing.last_step < 0 ? 0 : StoodNs(standing);
}

int64_t LongestStall(const WaitGraph& graph, const std::vector<RankId>& ranks) {
  int64_t longest_ns = 0;
  for (const RankId rank : ranks)
    longest_ns = std::max(longest_ns, StallOf(*graph.StandingOf(rank)));
  return longest_ns;
}

// Walks against the waits, from the culprits outwards.
class Spread {
 public:
  Spread(const WaitGraph& graph, const HangClaim& claim)
      : graph_(graph),
        claim_(claim),
        reached_(graph.rank_count(), false),
        told_(graph.operations().size(), false),
        lacking_(graph.rank_count()),
        held_with_(graph.operations().size()) {
    for (const WaitGraph::HeldOperation& held : graph.held())
      held_with_[held.by].push_back(held.operation);
    for (uint32_t i = 0; i < graph.operations().size(); ++i) {
      for (const AbsentRank& absent : graph.operations()[i].absent)
        lacking_[absent.rank.value].push_back(i);
    }
    for (const RankId rank : claim.culprits) reached_[rank.value] = true;
    // Who is in the operations that stand still of themselves waits there, whoever is to blame.
    if (claim.kind == HangKind::kCommunication || claim.kind == HangKind::kStalled ||
        claim.kind == HangKind::kMismatch) {
      for (const uint32_t operation : claim.operations) Tell(operation);
    }
    for (const RankId rank : claim.culprits) Enqueue(rank);
  }

  void Run(Finding* finding) {
    for (size_t next = 0; next < queue_.size(); ++next) {
      for (const uint32_t operation : lacking_[queue_[next].value]) Tell(operation);
    }
    for (uint32_t rank = 0; rank < reached_.size(); ++rank) {
      const RankStanding* standing = graph_.StandingOf(RankId{rank});
      const bool culprit =
          std::binary_search(claim_.culprits.begin(), claim_.culprits.end(), RankId{rank}) ||
          std::binary_search(claim_.ahead.begin(), claim_.ahead.end(), RankId{rank});
      if (!reached_[rank] || culprit || standing == nullptr) continue;
      finding->victims.push_back(
          {.rank = RankId{rank}, .lost_ns = StallOf(*standing), .lost_ns_per_step = 0});
    }
    finding->chain = std::move(effects_);
  }

 private:
  void Enqueue(RankId rank) { queue_.push_back(rank); }

  // All who wait in the operation are reached.
  void Tell(uint32_t number) {
    if (told_[number]) return;
    told_[number] = true;
    const HungOperation& operation = graph_.operations()[number];
    std::vector<RankId> absent;
    for (const AbsentRank& row : operation.absent) absent.push_back(row.rank);
    if (effects_.size() < kMostEffects) {
      const std::string missing =
          absent.empty() ? "" : fmt::format(", without {}", RanksText(absent));
      const std::string verb = operation.waiting.size() == 1 ? "waits" : "wait";
      effects_.push_back({.rank = static_cast<int32_t>(operation.waiting[0].value),
                          .description = fmt::format("{} {} in {}{}", RanksText(operation.waiting),
                                                     verb, OperationText(operation), missing),
                          .lost_ns = LongestStall(graph_, operation.waiting)});
    }
    for (const RankId rank : operation.waiting) {
      if (reached_[rank.value]) continue;
      reached_[rank.value] = true;
      Enqueue(rank);
    }
    for (const uint32_t other : held_with_[number]) Tell(other);
  }

  const WaitGraph& graph_;
  const HangClaim& claim_;
  std::vector<bool> reached_;                   // by rank
  std::vector<bool> told_;                      // by operation
  std::vector<std::vector<uint32_t>> lacking_;  // by rank: operations that it is absent from
  // by operation: those that it holds up in a kernel
  std::vector<std::vector<uint32_t>> held_with_;
  std::vector<RankId> queue_;
  std::vector<Effect> effects_;
};

}  // namespace

void AddVictims(const WaitGraph& graph, const HangClaim& claim, Finding* finding) {
  Spread(graph, claim).Run(finding);
}

}  // namespace eroica
