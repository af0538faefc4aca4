#include "diagnosis/hang/hang_claim.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "diagnosis/hang/standing_lookup.h"
#include "diagnosis/hang/strong_components.h"
#include "schemas/synchronizing_operation.h"

namespace eroica {
namespace {

// Splits ranks into sides: the largest is the peers', the others are the culprits. Nothing where
// all are on one side.
struct Sides {
  std::vector<RankId> culprits;
  std::vector<RankId> peers;
  bool undecided = false;
};
template <typename Key>
std::optional<Sides> Split(const std::map<Key, std::vector<RankId>>& sides) {
  if (sides.size() < 2) return std::nullopt;
  size_t largest = 0;
  for (const auto& [key, ranks] : sides) largest = std::max(largest, ranks.size());
  size_t as_large = 0;
  for (const auto& [key, ranks] : sides) as_large += ranks.size() == largest;
  Sides split{.culprits = {}, .peers = {}, .undecided = as_large > 1};
  for (const auto& [key, ranks] : sides) {
    std::vector<RankId>& side =
        !split.undecided && ranks.size() == largest ? split.peers : split.culprits;
    side.insert(side.end(), ranks.begin(), ranks.end());
  }
  for (std::vector<RankId>* side : {&split.culprits, &split.peers}) {
    std::sort(side->begin(), side->end());
    side->erase(std::unique(side->begin(), side->end()), side->end());
  }
  return split;
}

HangClaim Mismatch(Sides sides, std::vector<uint32_t> operations) {
  return {.kind = HangKind::kMismatch,
          .culprits = std::move(sides.culprits),
          .others = std::move(sides.peers),
          .operations = std::move(operations),
          .undecided = sides.undecided};
}

// Whether the ranks of the root wait for each other no more once those that are left out wait for
// nobody.
bool IsResolvedWithout(const WaitGraph& graph, const HangRoot& root,
                       const std::vector<RankId>& left_out) {
  std::map<uint32_t, uint32_t> nodes;  // of the ranks
  for (const RankId rank : root.ranks)
    nodes.try_emplace(rank.value, static_cast<uint32_t>(nodes.size()));
  std::vector<std::vector<uint32_t>> edges(nodes.size() + root.operations.size());
  for (size_t i = 0; i < root.operations.size(); ++i) {
    const HungOperation& operation = graph.operations()[root.operations[i]];
    const auto node = static_cast<uint32_t>(nodes.size() + i);
    for (const RankId rank : operation.waiting) {
      const auto own = nodes.find(rank.value);  // others wait with them, and nobody for those
      if (own != nodes.end() && !std::binary_search(left_out.begin(), left_out.end(), rank))
        edges[own->second].push_back(node);
    }
    for (const AbsentRank& absent : operation.absent)
      edges[node].push_back(nodes.at(absent.rank.value));
  }
  const std::vector<uint32_t> component = StrongComponents(edges);
  return *std::max_element(component.begin(), component.end()) + 1 == edges.size();
}

// Training repeats itself: what no step of the ranks had on this communicator, their operation is
// the first of its kind there though steps have ended.
bool IsUnheardOf(const WaitGraph& graph, const HungOperation& operation) {
  if (operation.point_to_point() || operation.sequence > 0) return false;
  return std::ranges::all_of(operation.waiting,
                             [&](RankId rank) { return graph.StandingOf(rank)->last_step >= 0; });
}

// Of sides that are equally small the one that entered what the communicator never had, if it is
// the only one.
std::optional<uint32_t> OnlyUnheardOf(const WaitGraph& graph, const std::vector<uint32_t>& sides) {
  const auto unheard_of = [&](uint32_t number) {
    return IsUnheardOf(graph, graph.operations()[number]);
  };
  if (std::ranges::count_if(sides, unheard_of) != 1) return std::nullopt;
  return *std::ranges::find_if(sides, unheard_of);
}

// Ranks that wait for each other: each is in an operation that another has not joined. To blame are
// the fewest that stand in one operation and without whom nobody would wait in a circle.
HangClaim OfCycle(const WaitGraph& graph, const HangRoot& root) {
  constexpr size_t kMostTried = 64;
  std::vector<uint32_t> smallest = root.operations;
  const auto size = [&](uint32_t i) { return graph.operations()[i].waiting.size(); };
  std::stable_sort(smallest.begin(), smallest.end(),
                   [&](uint32_t a, uint32_t b) { return size(a) < size(b); });
  if (smallest.size() > kMostTried) smallest.resize(kMostTried);
  HangClaim claim{.kind = HangKind::kMismatch, .operations = root.operations};
  std::vector<uint32_t> found;
  for (const uint32_t number : smallest) {
    if (!found.empty() && size(number) > size(found[0])) break;
    if (IsResolvedWithout(graph, root, graph.operations()[number].waiting)) found.push_back(number);
  }
  if (const std::optional<uint32_t> only =
          found.size() > 1 ? OnlyUnheardOf(graph, found) : std::nullopt) {
    found = {*only};
    claim.unheard_of = true;
  }
  claim.undecided = found.size() != 1;
  for (const uint32_t number : found) {
    const std::vector<RankId>& waiting = graph.operations()[number].waiting;
    claim.culprits.insert(claim.culprits.end(), waiting.begin(), waiting.end());
  }
  if (found.empty()) claim.culprits = root.ranks;
  std::sort(claim.culprits.begin(), claim.culprits.end());
  claim.culprits.erase(std::unique(claim.culprits.begin(), claim.culprits.end()),
                       claim.culprits.end());
  std::set_difference(root.ranks.begin(), root.ranks.end(), claim.culprits.begin(),
                      claim.culprits.end(), std::back_inserter(claim.others));
  // A receive that was posted ahead holds nobody: its rank is somewhere else. Programs in order do
  // not deadlock over two communicators.
  if (found.size() == 1 && graph.operations()[found[0]].point_to_point())
    claim.kind = HangKind::kNeverLaunched;
  return claim;
}

// All members that have not got it behind them are in the operation.
HangClaim OfOperation(const WaitGraph& graph, uint32_t number) {
  const HungOperation& operation = graph.operations()[number];
  std::map<std::pair<uint8_t, uint64_t>, std::vector<RankId>> sides;
  for (size_t i = 0; i < operation.waiting.size(); ++i) {
    const uint64_t size = NeedsOneSize(operation.operation) ? operation.bytes[i] : 0;
    sides[{operation.sides[i], size}].push_back(operation.waiting[i]);
  }
  if (std::optional<Sides> split = Split(sides)) return Mismatch(*std::move(split), {number});
  const bool last_of_all = operation.waiting.size() == 1 && !operation.through.empty();
  if (last_of_all && !RunsOnHost(operation.communicator->library))
    return {.kind = HangKind::kDevice, .culprits = operation.waiting, .operations = {number}};
  HangClaim claim{.kind = operation.starts_known ? HangKind::kCommunication : HangKind::kStalled,
                  .operations = {number}};
  // the ends of the link; the one that lacks it
  if (operation.point_to_point() || last_of_all) claim.culprits = operation.waiting;
  return claim;
}

HangClaim OfRank(const WaitGraph& graph, RankId rank) {
  HangClaim claim{.kind = graph.IsSilent(rank) ? HangKind::kSilent : HangKind::kNeverLaunched,
                  .culprits = {rank}};
  bool launched = false;
  for (uint32_t i = 0; i < graph.operations().size(); ++i) {
    for (const AbsentRank& absent : graph.operations()[i].absent) {
      if (absent.rank != rank) continue;
      claim.operations.push_back(i);
      launched = launched || absent.why == Absence::kNotStarted;
    }
  }
  if (launched) claim.kind = HangKind::kDevice;
  return claim;
}

HangClaim Claim(const WaitGraph& graph, const HangRoot& root) {
  if (root.operations.empty()) return OfRank(graph, root.ranks[0]);
  if (root.ranks.empty()) return OfOperation(graph, root.operations[0]);
  return OfCycle(graph, root);
}

// The operations in which others are waited for that are known to hold them up: members that have
// not launched it, or whose device does not get on; or members that wait in such an operation
// themselves.
std::vector<bool> FindHeldUp(const WaitGraph& graph) {
  const std::vector<HungOperation>& operations = graph.operations();
  std::vector<bool> held_up(operations.size());
  const auto holds = [&](const AbsentRank& absent) {
    if (absent.why != Absence::kElsewhere) return absent.why != Absence::kSilent;
    return std::ranges::any_of(graph.OperationsOf(absent.rank),
                               [&](uint32_t operation) { return held_up[operation]; });
  };
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < operations.size(); ++i) {
      if (held_up[i] || std::ranges::none_of(operations[i].absent, holds)) continue;
      held_up[i] = grown = true;
    }
  }
  return held_up;
}

// The ranks that wait for the culprits, at once or through others.
size_t RanksHeldUp(const WaitGraph& graph, const HangClaim& claim) {
  std::vector<bool> reached(graph.rank_count(), false), entered(graph.operations().size(), false);
  std::vector<uint32_t> queue = claim.operations;
  const auto enter = [&](uint32_t operation) {
    if (!entered[operation]) queue.push_back(operation);
  };
  size_t ranks = 0;
  for (size_t next = 0; next < queue.size(); ++next) {
    const uint32_t number = queue[next];
    if (entered[number]) continue;
    entered[number] = true;
    for (const WaitGraph::HeldOperation& held : graph.held()) {
      if (held.by == number) enter(held.operation);
    }
    for (const RankId rank : graph.operations()[number].waiting) {
      if (reached[rank.value]) continue;
      reached[rank.value] = true;
      ++ranks;
      for (uint32_t i = 0; i < graph.operations().size(); ++i) {
        const std::vector<AbsentRank>& absent = graph.operations()[i].absent;
        if (std::ranges::find(absent, rank, &AbsentRank::rank) != absent.end()) enter(i);
      }
    }
  }
  return ranks;
}

// Who is silent is blamed for want of a better reason: it may be held up by what holds others up,
// in an operation that nobody else recorded. A job seldom hangs twice at once.
void DropSilentBesideLargerHang(const WaitGraph& graph, std::map<HangKind, HangClaim>* claims) {
  const auto silent = claims->find(HangKind::kSilent);
  if (silent == claims->end()) return;
  const size_t waiting = RanksHeldUp(graph, silent->second);
  const bool larger = std::ranges::any_of(*claims, [&](const auto& entry) {
    const auto& [kind, claim] = entry;
    return kind != HangKind::kSilent && !claim.undecided && RanksHeldUp(graph, claim) > waiting;
  });
  if (larger) claims->erase(silent);
}

// Marks the claim as undecided where the ranks that wait are no more than those that are absent,
// and are ahead of them by this one operation: a dump cannot tell whether the waiting ranks
// launched one too many or the absent ones one too few. (A rank that still reports says what it
// does instead.)
void DoubtOneAhead(const WaitGraph& graph, HangClaim* claim) {
  std::vector<RankId> waiting;
  for (uint32_t rank = 0; rank < graph.rank_count(); ++rank) {
    if (!graph.OperationsOf(RankId{rank}).empty()) waiting.push_back(RankId{rank});
  }
  if (!graph.of_dumps() || waiting.size() > claim->culprits.size()) return;
  for (const uint32_t number : claim->operations) {
    const HungOperation& operation = graph.operations()[number];
    const auto below = [&](RankId rank) {
      return NumbersBelow(*graph.StandingOf(rank), operation.communicator->id);
    };
    const bool by_one =
        !operation.point_to_point() &&
        std::ranges::all_of(operation.waiting,
                            [&](RankId rank) { return below(rank) == operation.sequence + 1; }) &&
        std::ranges::all_of(claim->culprits, [&](RankId rank) {
          return below(rank) == operation.sequence || operation.sequence <= 1;
        });
    if (!by_one) return;
  }
  claim->undecided = true;
  claim->ahead = std::move(waiting);
}

void Merge(HangClaim&& from, HangClaim* into) {
  const auto append = [](auto& to, const auto& rows) {
    to.insert(to.end(), rows.begin(), rows.end());
    std::sort(to.begin(), to.end());
    to.erase(std::unique(to.begin(), to.end()), to.end());
  };
  append(into->culprits, from.culprits);
  append(into->others, from.others);
  append(into->operations, from.operations);
  into->undecided = into->undecided || from.undecided;
  into->unheard_of = into->unheard_of && from.unheard_of;
}

}  // namespace

std::string_view ToString(HangKind kind) {
  switch (kind) {
    case HangKind::kNeverLaunched: return "never_launched";
    case HangKind::kSilent: return "silent";
    case HangKind::kDevice: return "device";
    case HangKind::kMismatch: return "mismatch";
    case HangKind::kCommunication: return "communication";
    case HangKind::kStalled: return "stalled";
  }
  return "unknown";
}

std::vector<HangClaim> ClaimsOf(const WaitGraph& graph) {
  std::map<HangKind, HangClaim> claims;
  const std::vector<bool> held_up = FindHeldUp(graph);
  for (const HangRoot& root : graph.Roots()) {
    HangClaim claim = Claim(graph, root);
    // The silent rank may stand there as well.
    if (claim.kind == HangKind::kSilent &&
        std::ranges::any_of(claim.operations, [&](uint32_t i) { return held_up[i]; }))
      continue;
    const auto [known, is_new] = claims.try_emplace(claim.kind, claim);
    if (!is_new) Merge(std::move(claim), &known->second);
  }
  if (const auto known = claims.find(HangKind::kNeverLaunched); known != claims.end())
    DoubtOneAhead(graph, &known->second);
  DropSilentBesideLargerHang(graph, &claims);
  std::vector<HangClaim> all;
  for (auto& [kind, claim] : claims) {
    if (kind == HangKind::kCommunication &&
        claim.culprits.empty()) {  // not those of a send, whose ends are known
      claim.stall = FindStall(graph, claim.operations);
      claim.culprits = claim.stall.culprits;
      std::sort(claim.culprits.begin(), claim.culprits.end());
    }
    const auto weight = [&](uint32_t i) { return graph.operations()[i].waiting.size(); };
    std::stable_sort(claim.operations.begin(), claim.operations.end(),
                     [&](uint32_t a, uint32_t b) { return weight(a) > weight(b); });
    all.push_back(std::move(claim));
  }
  return all;
}

}  // namespace eroica
