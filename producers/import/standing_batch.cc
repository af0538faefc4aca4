#include "producers/import/standing_batch.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "producers/import/collective_matcher.h"
#include "schemas/codec.h"

namespace eroica {
namespace {

using Entry = FlightRecorderDump::Entry;

class Maker {
 public:
  Maker(const DumpedJob& job, ProducerIdentity identity)
      : job_(job),
        rank_(identity.rank.value),
        dump_(job.dumps.at(rank_).dump),
        launches_(job.launches.at(rank_)) {
    batch_.identity = std::move(identity);
    batch_.final = true;
    for (const uint32_t group : job.groups.OfRank(rank_)) {
      const ProcessGroup& stated = job.groups.all()[group].process_group;
      places_[group] = static_cast<uint16_t>(batch_.communicators.size());
      batch_.communicators.push_back({CommunicatorId(batch_.identity.job, stated), stated.name,
                                      stated.description, stated.size, stated.ranks.ranks()});
    }
  }

  EventBatch Make(ImportCounts* counts) {
    report_ = {.time_ns = job_.time_ns,
               .timed_out = true,
               .moment_unknown = job_.standstill == Standstill::kOfCopies};
    FindFrontOfHosts();
    bool any_of_device = false;
    for (size_t i = 0; i < dump_.entries.size(); ++i) {
      ++counts->events;
      const DumpLaunch* launch = LaunchOf(i);
      if (launch == nullptr) {
        counts->skipped.Add(DropReason::kMalformedEvent);
        continue;
      }
      ++counts->imported;
      any_of_device = any_of_device || !launch->on_host;
      Add(dump_.entries[i], *launch);
    }
    report_.starts_unknown = any_of_device && !dump_.starts_told;
    CountBelowTheRing();
    for (const auto& [key, row] : in_flight_) {
      if (report_.in_flight.size() < CodecLimits::kIntervals) report_.in_flight.push_back(row);
    }
    for (const auto& [key, row] : counts_) report_.operations.push_back(row);
    AddSite();
    batch_.progress = {std::move(report_)};
    return std::move(batch_);
  }

 private:
  using Key = std::tuple<uint16_t, CollectiveOperation, int32_t, uint64_t>;

  const DumpLaunch* LaunchOf(size_t entry) const {
    const uint32_t launch = launches_.of_entry[entry];
    if (launch == RankLaunches::kNone || !places_.contains(launches_.rows[launch].group))
      return nullptr;
    return &launches_.rows[launch];
  }

  // Operations over gloo run on threads of the group at once: the first in flight has started.
  void FindFrontOfHosts() {
    for (const DumpLaunch& launch : launches_.rows) {
      if (!launch.on_host || launch.ended) continue;
      const auto [first, is_new] = front_of_hosts_.try_emplace(launch.group, launch.sequence);
      if (!is_new) first->second = std::min(first->second, launch.sequence);
    }
  }

  bool HasStarted(const DumpLaunch& launch) const {
    if (launch.on_host) return front_of_hosts_.at(launch.group) == launch.sequence;
    return launch.state == FlightRecorderDump::State::kStarted;
  }

  void Add(const Entry& entry, const DumpLaunch& launch) {
    const uint16_t place = places_.at(launch.group);
    batch_.communicators[place].library = entry.library;
    const auto sequence = static_cast<uint64_t>(launch.sequence);
    if (!entry.point_to_point) {
      uint64_t& lowest = lowest_.try_emplace(place, sequence).first->second;
      lowest = std::min(lowest, sequence);
    }
    if (entry.closes) return;  // it stands for those before it
    if (!launch.ended && job_.standstill != Standstill::kNotShown) {
      const int32_t peer = PeerOf(entry, place);
      const auto [row, is_new] =
          in_flight_.try_emplace({place, entry.operation, peer, sequence},
                                 InFlightCollective{.communicator = place,
                                                    .operation = entry.operation,
                                                    .started = HasStarted(launch),
                                                    .peer = peer,
                                                    .sequence = sequence,
                                                    .launched_ns = launch.created_ns,
                                                    .side = SideOf(launch)});
      row->second.bytes += entry.bytes;
    }
    // Sends and receives are numbered together, which tells nothing of one peer.
    if (entry.point_to_point) return;
    OperationCount& count = counts_[{place, entry.operation}];
    count.communicator = place;
    count.operation = entry.operation;
    count.launched = std::max(count.launched, sequence + 1);
    if (launch.ended) count.completed = std::max(count.completed, sequence + 1);
  }

  uint8_t SideOf(const DumpLaunch& launch) const {
    const auto side = job_.sides.find({launch.group, launch.sequence, rank_});
    return side == job_.sides.end() ? uint8_t{0} : side->second;
  }

  // Members of the group are numbered in its order; where that is not known there is no peer.
  int32_t PeerOf(const Entry& entry, uint16_t place) const {
    const std::vector<uint32_t>& ranks = batch_.communicators[place].ranks;
    if (!entry.point_to_point || entry.group_peer < 0 ||
        static_cast<size_t>(entry.group_peer) >= ranks.size())
      return -1;
    return static_cast<int32_t>(ranks[static_cast<size_t>(entry.group_peer)]);
  }

  // All kinds are numbered together: what lies below the oldest entry of a group was launched,
  // whichever kind it was of, and is forgotten.
  void CountBelowTheRing() {
    for (const auto& [place, lowest] : lowest_) {
      OperationCount& all = counts_[{place, CollectiveOperation::kUnknown}];
      all.communicator = place;
      all.launched =
          std::max(all.launched, lowest);  // it may hold operations of a kind unknown here
      all.completed = 0;
    }
  }

  // The call stack that launched the earliest operation in flight; where none is in flight, that of
  // the last entry.
  void AddSite() {
    const Entry* shown = nullptr;
    int64_t earliest_ns = 0;
    for (size_t i = 0; i < dump_.entries.size(); ++i) {
      const DumpLaunch* launch = LaunchOf(i);
      if (launch == nullptr || launch->ended || dump_.entries[i].site == FlightRecorderDump::kNone)
        continue;
      if (shown != nullptr && earliest_ns <= launch->created_ns) continue;
      shown = &dump_.entries[i];
      earliest_ns = launch->created_ns;
    }
    if (shown == nullptr && !dump_.entries.empty()) shown = &dump_.entries.back();
    if (shown == nullptr || shown->site == FlightRecorderDump::kNone) return;
    for (const std::string& call : dump_.sites[shown->site]) {
      const auto row = static_cast<uint32_t>(batch_.functions.size());
      batch_.functions.push_back({.name = call,
                                  .function_class = FunctionClass::kPython,
                                  .wait = WaitKind::kNone,
                                  .parent = row == 0 ? kNoParent : row - 1});
    }
    report_.function = static_cast<uint32_t>(batch_.functions.size() - 1);
  }

  const DumpedJob& job_;
  uint32_t rank_;
  const FlightRecorderDump& dump_;
  const RankLaunches& launches_;
  EventBatch batch_;
  ProgressReport report_;
  std::map<uint32_t, uint16_t> places_;  // by job-wide group: index into the communicators
  std::map<uint32_t, int64_t> front_of_hosts_;
  std::map<uint16_t, uint64_t> lowest_;  // by communicator: the oldest number that is there
  std::map<Key, InFlightCollective> in_flight_;
  std::map<std::pair<uint16_t, CollectiveOperation>, OperationCount> counts_;
};

}  // namespace

EventBatch StandingBatch(const DumpedJob& job, ProducerIdentity identity, ImportCounts* counts) {
  return Maker(job, std::move(identity)).Make(counts);
}

}  // namespace eroica
