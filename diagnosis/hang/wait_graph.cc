#include "diagnosis/hang/wait_graph.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "diagnosis/hang/standing_lookup.h"
#include "diagnosis/hang/strong_components.h"

namespace eroica {
namespace {

// Point to point without a peer tells nothing.
bool IsUsable(const InFlightCollective& row) {
  return !IsPointToPoint(row.operation) || row.peer >= 0;
}

bool HasStarts(const HangView& view) {
  for (const RankStanding* standing : view.standings) {
    for (const InFlightCollective& row : standing->in_flight) {
      if (row.started) return true;
    }
  }
  return false;
}

// Whether threads of the process carry the row out, so that the rank takes part in it whatever its
// own thread does. (A receive that was posted ahead may wait for nobody yet.)
bool IsCarriedOut(const RankStanding& standing, const InFlightCollective& row) {
  return RunsOnHost(standing.communicators[row.communicator].library) &&
         !IsPointToPoint(row.operation);
}

// Rows in which the rank stands: what has started, and the first of each communicator that no
// device starts; where starts are not known, what was launched first, and with it what runs as one
// kernel.
std::vector<const InFlightCollective*> RowsInFront(const RankStanding& standing,
                                                   bool starts_known) {
  std::vector<const InFlightCollective*> rows;
  const InFlightCollective* oldest = nullptr;
  std::map<uint16_t, const InFlightCollective*> carried_out;  // by communicator
  for (const InFlightCollective& row : standing.in_flight) {
    if (!IsUsable(row)) continue;
    if (row.started) {
      rows.push_back(&row);
    } else if (starts_known && IsCarriedOut(standing, row)) {
      const InFlightCollective*& first = carried_out[row.communicator];
      if (first == nullptr || row.launched_ns < first->launched_ns) first = &row;
    } else if (oldest == nullptr || row.launched_ns < oldest->launched_ns) {
      oldest = &row;
    }
  }
  for (const auto& [communicator, first] : carried_out) rows.push_back(first);
  if (starts_known || oldest == nullptr) return rows;
  for (const InFlightCollective& row : standing.in_flight) {
    if (IsUsable(row) && !row.started && row.launched_ns == oldest->launched_ns)
      rows.push_back(&row);
  }
  return rows;
}

}  // namespace

WaitGraph::WaitGraph(const HangView& view)
    : standings_(view.world_size, nullptr),
      silent_(view.world_size, false),
      any_started_(HasStarts(view)),
      waits_in_(view.world_size) {
  for (const RankStanding* standing : view.standings) {
    if (standing->rank.value < view.world_size) standings_[standing->rank.value] = standing;
    of_dumps_ = of_dumps_ || standing->timed_out;
  }
  for (const RankId rank : view.silent) {
    if (rank.value < view.world_size) silent_[rank.value] = true;
  }

  std::map<OperationKey, uint32_t> numbers;
  for (const RankStanding* standing : standings_) {
    if (standing != nullptr) AddRank(*standing, &numbers);
  }
  for (HungOperation& operation : operations_) FindAbsent(operation);
  FindHeld();
}

WaitGraph::OperationKey WaitGraph::KeyOf(const RankStanding& standing,
                                         const InFlightCollective& row) {
  const CommId communicator = standing.communicators[row.communicator].id;
  const auto own = static_cast<int32_t>(standing.rank.value);
  if (row.operation == CollectiveOperation::kSend)
    return {communicator, CollectiveOperation::kSend, own, row.peer, 0};
  if (row.operation == CollectiveOperation::kRecv)
    return {communicator, CollectiveOperation::kSend, row.peer, own, 0};
  return {communicator, row.operation, -1, -1, row.sequence};
}

void WaitGraph::AddRank(const RankStanding& standing, std::map<OperationKey, uint32_t>* numbers) {
  const bool starts_known = any_started_ && !standing.starts_unknown;
  std::map<int64_t, std::vector<uint32_t>> kernels;  // by time of launch
  for (const InFlightCollective* row : RowsInFront(standing, starts_known)) {
    const OperationKey key = KeyOf(standing, *row);
    const Communicator* communicator = &standing.communicators[row->communicator];
    const auto [entry, is_new] =
        numbers->try_emplace(key, static_cast<uint32_t>(operations_.size()));
    if (is_new) {
      operations_.push_back({.communicator = communicator,
                             .operation = std::get<CollectiveOperation>(key),
                             .sequence = row->sequence,
                             .source = std::get<2>(key),
                             .destination = std::get<3>(key)});
    }
    HungOperation& operation = operations_[entry->second];
    kernels[row->launched_ns].push_back(entry->second);
    operation.starts_known = operation.starts_known && row->started;
    // A rank may have several sends to one peer in front: it waits in them together.
    if (!operation.waiting.empty() && operation.waiting.back() == standing.rank) continue;
    if (operation.communicator->ranks.empty())
      operation.communicator = communicator;  // ask a member that lists the members
    waits_in_[standing.rank.value].push_back(entry->second);
    operation.waiting.push_back(standing.rank);
    operation.bytes.push_back(row->bytes);
    operation.sides.push_back(row->side);
  }
  for (auto& [launched_ns, operations] : kernels) {
    if (operations.size() > 1) kernels_.push_back(std::move(operations));
  }
}

void WaitGraph::FindAbsent(HungOperation& operation) const {
  if (operation.point_to_point()) {
    for (const int32_t member : {operation.source, operation.destination})
      FindAbsentMember(operation, static_cast<uint32_t>(member));
  } else if (!operation.communicator->ranks.empty()) {
    for (const uint32_t member : operation.communicator->ranks) FindAbsentMember(operation, member);
  } else {
    for (uint32_t member = 0; member < standings_.size(); ++member) {
      if (standings_[member] != nullptr && PlaceOf(*standings_[member], operation.communicator->id))
        FindAbsentMember(operation, member);
    }
  }
  std::sort(operation.absent.begin(), operation.absent.end(),
            [](const AbsentRank& a, const AbsentRank& b) { return a.rank < b.rank; });
}

void WaitGraph::FindAbsentMember(HungOperation& operation, uint32_t member) const {
  const RankId rank{member};
  if (member >= standings_.size() ||
      std::binary_search(operation.waiting.begin(), operation.waiting.end(), rank))
    return;
  if (silent_[member]) return operation.absent.push_back({rank, Absence::kSilent});
  if (standings_[member] == nullptr) return;
  switch (ShareIn(*standings_[member], operation)) {
    case Share::kInFlight: {
      const bool nothing_runs = waits_in_[member].empty() && !standings_[member]->starts_unknown;
      return operation.absent.push_back(
          {rank, nothing_runs ? Absence::kNotStarted : Absence::kElsewhere});
    }
    case Share::kNotLaunched: return operation.absent.push_back({rank, Absence::kNotLaunched});
    case Share::kThrough: return operation.through.push_back(rank);
  }
}

// From those that lack members outwards, kernel by kernel: in a ring of sends and receives the
// kernels hold each other up all round.
void WaitGraph::FindHeld() {
  std::vector<std::vector<uint32_t>> kernels_of(operations_.size());
  for (uint32_t kernel = 0; kernel < kernels_.size(); ++kernel) {
    for (const uint32_t operation : kernels_[kernel]) kernels_of[operation].push_back(kernel);
  }
  std::vector<bool> reached(operations_.size(), false);
  std::vector<uint32_t> queue;
  for (uint32_t i = 0; i < operations_.size(); ++i) {
    if (operations_[i].absent.empty()) continue;
    reached[i] = true;
    queue.push_back(i);
  }
  for (size_t next = 0; next < queue.size(); ++next) {
    const uint32_t by = queue[next];
    for (const uint32_t kernel : kernels_of[by]) {
      for (const uint32_t operation : kernels_[kernel]) {
        if (reached[operation]) continue;
        reached[operation] = true;
        queue.push_back(operation);
        held_.push_back({operation, by});
      }
    }
  }
}

std::vector<HangRoot> WaitGraph::Roots() const {
  const auto ranks = static_cast<uint32_t>(standings_.size());
  std::vector<std::vector<uint32_t>> edges(ranks + operations_.size());
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    for (const uint32_t operation : waits_in_[rank]) edges[rank].push_back(ranks + operation);
  }
  std::vector<bool> waited_for(ranks, false);
  for (uint32_t i = 0; i < operations_.size(); ++i) {
    for (const AbsentRank& absent : operations_[i].absent) {
      edges[ranks + i].push_back(absent.rank.value);
      waited_for[absent.rank.value] = true;
    }
  }
  for (const HeldOperation& held : held_) edges[ranks + held.operation].push_back(ranks + held.by);
  const std::vector<uint32_t> component = StrongComponents(edges);
  std::map<uint32_t, HangRoot> roots;
  std::vector<bool> leads_out(edges.size(), false);
  for (uint32_t node = 0; node < edges.size(); ++node) {
    for (const uint32_t target : edges[node]) {
      if (component[node] != component[target]) leads_out[component[node]] = true;
    }
  }
  for (uint32_t node = 0; node < edges.size(); ++node) {
    if (leads_out[component[node]]) continue;
    if (node >= ranks) {
      roots[component[node]].operations.push_back(node - ranks);
    } else if (waited_for[node]) {
      roots[component[node]].ranks.push_back(RankId{node});
    }
  }
  std::vector<HangRoot> sorted;
  for (auto& [unused, root] : roots) sorted.push_back(std::move(root));
  const auto first = [this](const HangRoot& root) {
    return root.ranks.empty() ? operations_[root.operations[0]].waiting[0] : root.ranks[0];
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const HangRoot& a, const HangRoot& b) { return first(a) < first(b); });
  return sorted;
}

}  // namespace eroica
