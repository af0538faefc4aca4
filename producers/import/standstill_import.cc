#include "producers/import/standstill_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "producers/import/collective_matcher.h"
#include "producers/import/flight_recorder_dump.h"
#include "producers/import/rank_trace.h"
#include "producers/import/trace_folder.h"
#include "schemas/codec.h"

namespace eroica {
namespace {

using Entry = FlightRecorderDump::Entry;

constexpr int64_t kLargestRank = int64_t{CodecLimits::kRanks} - 1;

struct RankDump {
  FlightRecorderDump dump;
  size_t file = 0;  // index into ImportReport::files
};
using Dumps = std::map<uint32_t, RankDump>;  // by rank

Dumps ReadDumps(ImportReport* report) {
  Dumps dumps;
  const auto refuse = [](FileReport& file, std::string why) {
    file.refused = true;
    file.warnings.push_back(std::move(why));
  };
  for (size_t i = 0; i < report->files.size(); ++i) {
    FileReport& file = report->files[i];
    std::error_code error;
    if (const uintmax_t size = std::filesystem::file_size(file.path, error); !error)
      file.counts.file_bytes = file.counts.content_bytes = size;
    const int64_t rank = RankOfFileName(file.path);
    if (rank < 0 || rank > kLargestRank) {
      refuse(file,
             "its name does not say which rank it is of; name it by its rank (fr_rank3.json)");
      continue;
    }
    file.rank = rank;
    absl::StatusOr<FlightRecorderDump> dump = ReadFlightRecorderDump(file.path);
    if (!dump.ok()) {
      refuse(file, fmt::format("not read: {}", std::string(dump.status().message())));
      continue;
    }
    const auto [taken, added] =
        dumps.try_emplace(static_cast<uint32_t>(rank), RankDump{*std::move(dump), i});
    if (!added) refuse(file, fmt::format("a second dump of rank {}: it was left out", rank));
  }
  return dumps;
}

// PyTorch lists the default group of gloo under no name, and calls it by one in the entries: of the
// whole job's entries the first that names a group which nobody lists.
void NameTheNameless(Dumps* dumps) {
  const Entry* named = nullptr;
  for (const auto& [rank, own] : *dumps) {
    for (const Entry& entry : own.dump.entries) {
      const auto same = [&](const ProcessGroup& group) { return group.name == entry.group_name; };
      const bool listed = std::any_of(own.dump.groups.begin(), own.dump.groups.end(), same);
      if (named == nullptr && !listed && !entry.group_name.empty()) named = &entry;
    }
  }
  if (named == nullptr) return;
  const Entry& entry = *named;
  for (auto& [rank, own] : *dumps) {
    if (own.dump.groups.size() != 1 || !own.dump.groups[0].name.empty()) continue;
    own.dump.groups[0].name = entry.group_name;
    own.dump.groups[0].description = entry.group_description;
  }
}

// As large as the largest rank that has a dump, or that is a member of a group.
std::optional<World> WorldOf(const Dumps& dumps) {
  int64_t largest = dumps.rbegin()->first;
  for (const auto& [rank, own] : dumps) {
    for (const ProcessGroup& group : own.dump.groups) {
      for (const uint32_t member : group.ranks) largest = std::max(largest, int64_t{member});
    }
  }
  return World::OfSize(largest + 1);
}

void WarnOfMembers(const Dumps& dumps, ImportReport* report) {
  for (const auto& [rank, own] : dumps) {
    for (const ProcessGroup& group : own.dump.groups) {
      if (!group.wrong_members) continue;
      report->files[own.file].warnings.push_back(fmt::format(
          "the process group \"{}\" lists members that are no ranks, or one twice; its members are "
          "taken as unknown",
          group.name));
    }
  }
}

// One batch of one rank.
class Standing {
 public:
  Standing(const JobId& job, RankId rank, const World& world, uint32_t window_steps,
           const FlightRecorderDump& dump)
      : dump_(dump) {
    batch_.identity = {.job = job,
                       .rank = rank,
                       .world_size = world.size(),
                       .producer = "eroica-import",
                       .producer_version = std::string(kImporterVersion),
                       .window_steps = window_steps};
    batch_.final = true;
    for (const ProcessGroup& group : dump.groups) AddGroup(world, group);
  }

  const EventBatch& Describe(int64_t time_ns, ImportCounts* counts) {
    ProgressReport report{.time_ns = time_ns, .timed_out = true};
    std::map<std::tuple<uint16_t, CollectiveOperation>, OperationCount> operations;
    for (const Entry& entry : dump_.entries) {
      ++counts->events;
      const std::optional<uint16_t> communicator = CommunicatorOf(entry);
      const bool known = communicator && entry.sequence >= 0 && entry.created_ns >= 0 &&
                         entry.created_ns <= CodecLimits::kMaxTimeNs;
      if (!known) {
        counts->skipped.Add(DropReason::kMalformedEvent);
        continue;
      }
      ++counts->imported;
      const auto sequence = static_cast<uint64_t>(entry.sequence);
      if (!entry.ended && report.in_flight.size() < CodecLimits::kIntervals) {
        report.in_flight.push_back({.communicator = *communicator,
                                    .operation = entry.operation,
                                    .started = entry.started,
                                    .peer = PeerOf(entry, *communicator),
                                    .sequence = sequence,
                                    .bytes = entry.bytes,
                                    .launched_ns = entry.created_ns});
      }
      // Sends and receives are numbered together, which tells nothing of one peer.
      if (entry.point_to_point) continue;
      OperationCount& count = operations[{*communicator, entry.operation}];
      count.communicator = *communicator;
      count.operation = entry.operation;
      count.launched = std::max(count.launched, sequence + 1);
      if (entry.ended) count.completed = std::max(count.completed, sequence + 1);
    }
    const auto key = [](const InFlightCollective& row) {
      return std::tuple(row.communicator, row.operation, row.peer, row.sequence);
    };
    std::sort(report.in_flight.begin(), report.in_flight.end(),
              [&](const auto& a, const auto& b) { return key(a) < key(b); });
    for (const auto& [unused, count] : operations) report.operations.push_back(count);
    batch_.progress = {std::move(report)};
    return batch_;
  }

 private:
  // Members outside the world, and those beyond what a batch may hold, are as good as unknown.
  void AddGroup(const World& world, ProcessGroup group) {
    if (batch_.communicators.size() == CodecLimits::kCommunicators) return;
    members_ += group.ranks.size();
    if (world.Outside(group.ranks) || members_ > RankTrace::kMaxMembers) group.ranks = {};
    batch_.communicators.push_back({CommunicatorId(batch_.identity.job, group), group.name,
                                    group.description, group.size, group.ranks.ranks()});
  }

  std::optional<uint16_t> CommunicatorOf(const Entry& entry) const {
    for (size_t i = 0; i < batch_.communicators.size(); ++i) {
      if (batch_.communicators[i].name == entry.group_name) return static_cast<uint16_t>(i);
    }
    return std::nullopt;
  }

  int32_t PeerOf(const Entry& entry, uint16_t communicator) const {
    const std::vector<uint32_t>& ranks = batch_.communicators[communicator].ranks;
    if (!entry.point_to_point || entry.group_peer < 0 ||
        static_cast<size_t>(entry.group_peer) >= ranks.size())
      return -1;
    return static_cast<int32_t>(ranks[static_cast<size_t>(entry.group_peer)]);
  }

  const FlightRecorderDump& dump_;
  EventBatch batch_;
  size_t members_ = 0;  // of all groups
};

// The latest moment in any of them: no rank had written its dump before.
int64_t LatestTime(const Dumps& dumps) {
  int64_t latest_ns = 0;
  for (const auto& [rank, own] : dumps) {
    for (const Entry& entry : own.dump.entries)
      latest_ns = std::max(latest_ns, std::min(entry.created_ns, CodecLimits::kMaxTimeNs));
  }
  return latest_ns;
}

absl::Status NothingRead(const ImportReport& report) {
  std::string why;
  for (const FileReport& file : report.files) {
    if (!file.warnings.empty() && why.size() < 2'000)
      why += fmt::format("\n  {}: {}", file.path.string(), file.warnings.front());
  }
  return absl::InvalidArgumentError(fmt::format(
      "none of the {} flight-recorder dumps could be read:{}", report.files.size(), why));
}

}  // namespace

absl::StatusOr<ImportReport> ImportStandstill(std::span<const std::filesystem::path> paths,
                                              const JobId& job, uint32_t window_steps,
                                              BatchSink& sink) {
  ImportReport report;
  report.stalled_only = true;
  report.job = job;
  for (const std::filesystem::path& path : paths) report.files.push_back({.path = path});
  Dumps dumps = ReadDumps(&report);
  if (dumps.empty()) return NothingRead(report);
  NameTheNameless(&dumps);
  const std::optional<World> world = WorldOf(dumps);
  if (!world) return absl::InvalidArgumentError("the dumps speak of more ranks than a job has");
  report.world_size = world->size();
  WarnOfMembers(dumps, &report);
  if (dumps.size() < report.world_size) {
    report.warnings.push_back(fmt::format("{} of {} ranks have no dump",
                                          report.world_size - dumps.size(), report.world_size));
  }
  const int64_t time_ns = LatestTime(dumps);
  for (const auto& [rank, own] : dumps) {
    const std::optional<RankId> known = world->Rank(rank);
    if (!known) return absl::InternalError(fmt::format("rank {} is of no world", rank));
    Standing standing(job, *known, *world, window_steps, own.dump);
    if (absl::Status status =
            sink.Write(standing.Describe(time_ns, &report.files[own.file].counts));
        !status.ok())
      return status;
    report.ranks.push_back(rank);
    ++report.batches;
  }
  for (const FileReport& file : report.files) report.total.Add(file.counts);
  return report;
}

}  // namespace eroica
