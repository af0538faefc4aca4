#include "producers/import/collective_matcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "producers/import/standing_end.h"
#include "schemas/function.h"

namespace eroica {
namespace {

// of a communicator that no trace lists; beyond, its size must do
constexpr uint32_t kMaxNamedMembers = 65'536;

using Calls = std::vector<CollectiveCall*>;

// What identifies a group across ranks. Members unknown: name and description alone.
struct GroupKey {
  std::string name;
  std::string description;
  MemberList ranks;
  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

struct Member {
  RankTrace* trace = nullptr;
  Calls calls;  // of the group, in program order
};

struct Group {
  ProcessGroup info;
  std::map<uint32_t, Member> members;  // by rank
};

uint32_t RankOf(const RankTrace& trace) { return static_cast<uint32_t>(trace.rank); }

// The number of elements may differ between the members of these.
bool BytesMayDiffer(CollectiveOperation operation) {
  switch (operation) {
    case CollectiveOperation::kAllToAll:
    case CollectiveOperation::kGather:
    case CollectiveOperation::kScatter:
    case CollectiveOperation::kAllGather:
    case CollectiveOperation::kReduceScatter:
    case CollectiveOperation::kUnknown: return true;
    default: return false;
  }
}

bool SameCall(const CollectiveCall& x, const CollectiveCall& y) {
  return x.operation == y.operation && (BytesMayDiffer(x.operation) || x.bytes == y.bytes);
}

bool SameOrder(const Calls& x, const Calls& y) {
  return std::equal(
      x.begin(), x.end(), y.begin(), y.end(),
      [](const CollectiveCall* a, const CollectiveCall* b) { return SameCall(*a, *b); });
}

bool EarlierCall(const CollectiveCall* x, const CollectiveCall* y) {
  return x->order_ns < y->order_ns;
}

class Matcher {
 public:
  Matcher(const JobId& job, const World& world, std::span<RankTrace* const> traces)
      : job_(job), world_(world), traces_(traces) {}

  MatchReport Run() {
    for (RankTrace* trace : traces_) SortIn(*trace);
    MatchPointToPoint();
    MatchWithoutGroup();
    for (auto& [key, group] : groups_) MatchGroup(group);
    ReportStandstill();
    for (RankTrace* trace : traces_) {
      for (const CollectiveCall& call : trace->collectives) {
        if (!call.ran) continue;
        ++(call.communicator != CollectiveCall::kUnmatched ? report_.matched : report_.unmatched);
      }
    }
    return std::move(report_);
  }

 private:
  // What is known of a call decides which of the ways below it goes.
  void SortIn(RankTrace& trace) {
    Calls ordered;
    for (CollectiveCall& call : trace.collectives) ordered.push_back(&call);
    std::stable_sort(ordered.begin(), ordered.end(), EarlierCall);
    for (CollectiveCall* call : ordered) {
      if (!world_.Holds(call->peer)) call->peer = -1;
      if (IsPointToPoint(call->operation)) {
        point_to_point_[RankOf(trace)].push_back(call);
      } else if (call->group >= 0) {
        AddToGroup(trace, trace.groups[static_cast<size_t>(call->group)], call);
      } else {
        without_group_[RankOf(trace)].push_back(call);
      }
    }
  }

  Group& GroupOf(const ProcessGroup& info) {
    Group& group = groups_[{info.name, info.description, info.ranks}];
    group.info = info;
    return group;
  }

  void AddToGroup(RankTrace& trace, const ProcessGroup& info, CollectiveCall* call) {
    Member& member = GroupOf(info).members[RankOf(trace)];
    member.trace = &trace;
    member.calls.push_back(call);
  }

  RankTrace* TraceOf(uint32_t rank) const {
    for (RankTrace* trace : traces_) {
      if (RankOf(*trace) == rank) return trace;
    }
    return nullptr;
  }

  uint32_t CommunicatorOf(RankTrace& trace, const ProcessGroup& info) {
    const CommId id = CommunicatorId(job_, info);
    for (size_t i = 0; i < trace.communicators.size(); ++i) {
      if (trace.communicators[i].id == id) return static_cast<uint32_t>(i);
    }
    const bool of_this_world = !world_.Outside(info.ranks).has_value();
    trace.communicators.push_back(
        {.id = id,
         .name = info.name,
         .description = info.description,
         .size = info.ranks.empty() ? info.size : static_cast<uint32_t>(info.ranks.size()),
         .ranks = {}});
    if (of_this_world) trace.communicators.back().ranks = info.ranks.ranks();
    return static_cast<uint32_t>(trace.communicators.size() - 1);
  }

  void Warn(std::string text) { report_.warnings.push_back(std::move(text)); }

  static std::string NameOf(const ProcessGroup& info) {
    return info.description.empty() ? fmt::format("\"{}\"", info.name)
                                    : fmt::format("\"{}\" ({})", info.name, info.description);
  }

  // Sequence numbers: as stated where every call of every member has one, else by order.
  void MatchGroup(Group& group) {
    bool stated = true;
    std::map<uint32_t, CallsAtEnd> ends;
    for (auto& [rank, member] : group.members) {
      std::stable_sort(member.calls.begin(), member.calls.end(), EarlierCall);
      CallsAtEnd end = SplitAtEnd(*member.trace, member.calls);
      std::erase_if(member.calls, [](const CollectiveCall* call) { return !call->ran; });
      for (const CollectiveCall* call : member.calls) stated = stated && call->stated_sequence >= 0;
      ends.emplace(rank, std::move(end));
    }
    const bool stands = Stands(ends);
    report_.ends_apart = report_.ends_apart || (!stands && EndApart(ends));
    if (stands) {
      for (auto& [rank, member] : group.members) member.calls = ends[rank].ended;
    }
    if (!stated && !AgreeOnOrder(group)) return;
    for (auto& [rank, member] : group.members) {
      const uint32_t communicator = CommunicatorOf(*member.trace, group.info);
      std::map<CollectiveOperation, uint64_t> next;
      uint64_t next_stated = 0;
      const auto sequence_of = [&](const CollectiveCall& call) {
        if (!stated) return next[call.operation]++;
        const uint64_t own =
            call.stated_sequence >= 0 ? static_cast<uint64_t>(call.stated_sequence) : next_stated;
        next_stated = own + 1;
        return own;
      };
      for (CollectiveCall* call : member.calls) {
        CollectiveLibrary& library = member.trace->communicators[communicator].library;
        if (library == CollectiveLibrary::kUnknown) library = call->library;
        call->communicator = communicator;
        call->sequence = sequence_of(*call);
      }
      if (!stands) continue;
      stands_ = true;
      for (const CollectiveCall* call : ends[rank].standing) {
        member.trace->standing.push_back({.communicator = communicator,
                                          .operation = call->operation,
                                          .sequence = sequence_of(*call),
                                          .bytes = call->bytes,
                                          .started = call->ran,
                                          .launched_ns = call->order_ns});
      }
    }
  }

  // Whether the group stands still where the traces end: some member waits to the end of its trace
  // in an operation, and before it all members have done the same operations.
  static bool Stands(const std::map<uint32_t, CallsAtEnd>& ends) {
    if (ends.size() < 2) return false;
    const std::vector<CollectiveCall*>& first = ends.begin()->second.ended;
    const bool agree = std::ranges::all_of(
        ends, [&first](const auto& entry) { return SameOrder(first, entry.second.ended); });
    return agree && !first.empty() &&
           std::ranges::any_of(ends, [](const auto& entry) { return entry.second.endless; });
  }

  // Some have launched what others have not, and it has not run: the job stands still there, or the
  // traces end at different moments.
  static bool EndApart(const std::map<uint32_t, CallsAtEnd>& ends) {
    const auto launched = [](const CallsAtEnd& end) {
      return std::ranges::count(end.standing, false, [](const auto* call) { return call->ran; });
    };
    const auto first = launched(ends.begin()->second);
    return std::ranges::any_of(ends,
                               [&](const auto& entry) { return launched(entry.second) != first; });
  }

  // Who waits for whom is known only from the traces of all ranks.
  void ReportStandstill() {
    if (!stands_) return;
    if (traces_.size() < world_.size()) {
      Warn(
          "the traces end while ranks wait in a collective: give those of all ranks to learn who "
          "has not come to it");
      return;
    }
    report_.ends_standing = true;
    for (RankTrace* trace : traces_) {
      trace->ends_standing = true;
      std::ranges::sort(trace->standing, {}, [](const StandingCall& call) {
        return std::tuple(call.communicator, call.operation, call.sequence);
      });
    }
  }

  bool AgreeOnOrder(const Group& group) {
    const Member& first = group.members.begin()->second;
    for (const auto& [rank, member] : group.members) {
      if (SameOrder(first.calls, member.calls)) continue;
      Warn(
          fmt::format("group {}: the order of collectives differs between rank {} ({} calls) and "
                      "rank {} ({} calls), so they are not matched; "
                      "put the flight-recorder dumps (fr_rankN.json) beside the traces to have "
                      "them matched exactly",
                      NameOf(group.info), group.members.begin()->first, first.calls.size(), rank,
                      member.calls.size()));
      return false;
    }
    return true;
  }

  // Calls without a group belong to the world's communicator if there is no other that they could
  // belong to, and all ranks made the same ones in the same order. With smaller groups about,
  // agreement shows nothing: ranks that do the same work in different groups agree as well.
  void MatchWithoutGroup() {
    if (without_group_.empty()) return;
    if (2 * traces_.size() < world_.size()) {
      Warn(
          fmt::format("the traces do not say which process group their collectives belong to, and "
                      "the order that {} of {} ranks show cannot "
                      "speak for the others: they are not matched; give the traces of all ranks",
                      traces_.size(), world_.size()));
      return;
    }
    if (std::ranges::any_of(traces_, &RankTrace::several_unnamed_groups)) {
      Warn(
          "the traces show several process groups and do not say which ranks are in each: "
          "collectives that name no group are not matched");
      return;
    }
    if (const ProcessGroup* smaller = SmallerGroup(); smaller != nullptr) {
      Warn(
          fmt::format("the traces do not say which process group their collectives belong to, and "
                      "there are several (such as {}): those that "
                      "nothing tells are not matched; put the flight-recorder dumps "
                      "(fr_rankN.json) beside the traces to have them matched exactly",
                      NameOf(*smaller)));
      return;
    }
    ProcessGroup world = WorldGroup();
    for (auto& [rank, calls] : without_group_) {
      for (CollectiveCall* call : calls) AddToGroup(*TraceOf(rank), world, call);
    }
    // A rank without any call disagrees with those that have some.
    for (RankTrace* trace : traces_) GroupOf(world).members[RankOf(*trace)].trace = trace;
  }

  const ProcessGroup* SmallerGroup() const {
    for (const RankTrace* trace : traces_) {
      for (const ProcessGroup& group : trace->groups) {
        if (group.ranks.size() > 1 && group.ranks.size() < world_.size()) return &group;
      }
    }
    return nullptr;
  }

  ProcessGroup WorldGroup() const {
    for (const RankTrace* trace : traces_) {
      for (const ProcessGroup& group : trace->groups) {
        if (group.ranks.size() == world_.size()) return group;
      }
    }
    ProcessGroup world{.name = "world", .size = world_.size()};
    if (world_.size() <= kMaxNamedMembers) world.ranks = world_.All();
    return world;
  }

  // Point to point.
  // The k-th send i -> j meets the k-th receive at j from i.

  std::optional<uint32_t> GlobalPeer(const ProcessGroup& group, uint32_t rank,
                                     int32_t group_peer) const {
    if (group_peer < 0 || static_cast<size_t>(group_peer) >= group.ranks.size())
      return std::nullopt;
    const uint32_t peer = group.ranks.ranks()[static_cast<size_t>(group_peer)];
    if (peer == rank || !world_.Holds(peer)) return std::nullopt;
    return peer;
  }

  static const ProcessGroup* GroupDescribed(const RankTrace& trace,
                                            const std::string& description) {
    const ProcessGroup* found = nullptr;
    for (const ProcessGroup& group : trace.groups) {
      if (group.description != description) continue;
      if (found != nullptr) return nullptr;
      found = &group;
    }
    return found;
  }

  using Channel = std::tuple<uint32_t, uint32_t>;  // sender, receiver

  // Whether, if all peers are meant within the groups of this description, sends and receives of
  // all present ranks pair up.
  bool PairsUp(const std::string& description) const {
    std::map<Channel, std::vector<uint64_t>> sent;
    std::map<Channel, std::vector<uint64_t>> received;
    for (const auto& [rank, calls] : point_to_point_) {
      const ProcessGroup* group = GroupDescribed(*TraceOf(rank), description);
      if (group == nullptr) return false;
      for (const CollectiveCall* call : calls) {
        const std::optional<uint32_t> peer = GlobalPeer(*group, rank, call->group_peer);
        if (!peer.has_value()) return false;
        if (TraceOf(*peer) == nullptr) continue;  // its half cannot be seen
        if (call->operation == CollectiveOperation::kSend) {
          sent[{rank, *peer}].push_back(call->bytes);
        } else {
          received[{*peer, rank}].push_back(call->bytes);
        }
      }
    }
    return sent == received;
  }

  void MatchPointToPoint() {
    if (point_to_point_.empty()) return;
    bool stated = false;
    std::set<std::string> descriptions;
    for (const auto& [rank, calls] : point_to_point_) {
      for (const CollectiveCall* call : calls) stated = stated || call->peer >= 0;
      for (const ProcessGroup& group : TraceOf(rank)->groups)
        descriptions.insert(group.description);
    }
    if (stated) {
      for (auto& [rank, calls] : point_to_point_) {
        std::erase_if(calls, [](const CollectiveCall* call) { return call->peer < 0; });
        NumberChannels(*TraceOf(rank), nullptr, calls);
      }
      return;
    }
    if (descriptions.empty()) {  // no trace lists a group: peers may be meant within the world
      for (RankTrace* trace : traces_) trace->groups.push_back(WorldGroup());
      descriptions.insert(std::string());
    }
    std::vector<std::string> fitting;
    for (const std::string& description : descriptions) {
      if (PairsUp(description)) fitting.push_back(description);
    }
    if (fitting.size() != 1) {
      Warn(
          fmt::format("sends and receives are not matched: {} of the process groups make them pair "
                      "up between the ranks",
                      fitting.empty() ? "none" : "several"));
      return;
    }
    for (auto& [rank, calls] : point_to_point_) {
      RankTrace& trace = *TraceOf(rank);
      NumberChannels(trace, GroupDescribed(trace, fitting[0]), calls);
    }
  }

  // group: null where the calls state their global peers (and perhaps groups) themselves.
  void NumberChannels(RankTrace& trace, const ProcessGroup* group, const Calls& calls) {
    const ProcessGroup world = WorldGroup();
    std::map<const ProcessGroup*, uint32_t> communicators;
    std::map<std::tuple<uint32_t, int32_t, CollectiveOperation>, uint64_t> next;
    for (CollectiveCall* call : calls) {
      const ProcessGroup* own =
          call->group >= 0 ? &trace.groups[static_cast<size_t>(call->group)] : &world;
      if (group != nullptr) {
        const std::optional<uint32_t> peer = GlobalPeer(*group, RankOf(trace), call->group_peer);
        if (!peer) continue;
        call->peer = static_cast<int32_t>(*peer);
        own = group;
      }
      const auto [known, added] = communicators.try_emplace(own, 0);
      if (added) known->second = CommunicatorOf(trace, *own);
      call->communicator = known->second;
      call->sequence = next[{call->communicator, call->peer, call->operation}]++;
    }
  }

  const JobId& job_;
  const World& world_;
  std::span<RankTrace* const> traces_;
  std::map<GroupKey, Group> groups_;
  std::map<uint32_t, Calls> point_to_point_;  // by rank, in program order
  std::map<uint32_t, Calls> without_group_;
  bool stands_ = false;  // some group does
  MatchReport report_;
};

}  // namespace

CommId CommunicatorId(const JobId& job, const ProcessGroup& group) {
  std::string text = fmt::format("{}\n{}\n{}", job.value, group.name, group.description);
  for (const uint32_t rank : group.ranks) text += fmt::format(",{}", rank);
  return CommId{HashFunction(FunctionClass::kCollective, text, FunctionId{0}).value};
}

MatchReport MatchCollectives(const JobId& job, const World& world,
                             std::span<RankTrace* const> traces) {
  return Matcher(job, world, traces).Run();
}

}  // namespace eroica
