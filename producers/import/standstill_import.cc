#include "producers/import/standstill_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "producers/import/dump_gaps.h"
#include "producers/import/dump_groups.h"
#include "producers/import/dump_launches.h"
#include "producers/import/dump_moment.h"
#include "producers/import/dump_sides.h"
#include "producers/import/rank_dumps.h"
#include "producers/import/rank_trace.h"
#include "producers/import/standing_batch.h"
#include "schemas/codec.h"

namespace eroica {
namespace {

// As large as the largest rank that has a dump, of any attempt, or that is a member of a group.
std::optional<World> WorldOf(const RankDumps& dumps, const ImportReport& report) {
  int64_t largest = dumps.rbegin()->first;
  for (const FileReport& file : report.files) {
    if (file.counts.file_bytes > 0) largest = std::max(largest, file.rank);
  }
  for (const auto& [rank, own] : dumps) {
    for (const ProcessGroup& group : own.dump.groups) {
      for (const uint32_t member : group.ranks) largest = std::max(largest, int64_t{member});
    }
  }
  return World::OfSize(largest + 1);
}

void WarnOfMembers(const RankDumps& dumps, ImportReport* report) {
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

// The latest moment in any of them: no rank had written its dump before.
int64_t LatestTime(const RankDumps& dumps) {
  int64_t latest_ns = 0;
  for (const auto& [rank, own] : dumps) {
    for (const FlightRecorderDump::Entry& entry : own.dump.entries)
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
  RankDumps dumps = ReadRankDumps(&report);
  if (dumps.empty()) return NothingRead(report);
  const std::optional<World> world = WorldOf(dumps, report);
  if (!world) return absl::InvalidArgumentError("the dumps speak of more ranks than a job has");
  report.world_size = world->size();
  WarnOfMembers(dumps, &report);
  DropUnrecorded(&dumps, &report);
  if (dumps.size() < report.world_size) {
    report.warnings.push_back(fmt::format("{} of {} ranks have no dump",
                                          report.world_size - dumps.size(), report.world_size));
  }
  const DumpGroups groups(dumps, *world);
  const std::map<uint32_t, RankLaunches> launches = LaunchesOf(dumps, groups);
  const DumpSides sides = SidesOf(dumps, groups, launches);
  report.left_open = WhatDumpsLeaveOpen(dumps, groups, launches);
  const DumpStandstill standstill = StandstillShownBy(dumps, groups, launches, sides, report);
  for (const std::string& sentence : standstill.open) report.left_open.push_back(sentence);
  const DumpedJob dumped{dumps, groups, launches, sides, LatestTime(dumps), standstill.standstill};
  for (const auto& [rank, own] : dumps) {
    const std::optional<RankId> known = world->Rank(rank);
    if (!known) return absl::InternalError(fmt::format("rank {} is of no world", rank));
    ProducerIdentity identity{.job = job,
                              .rank = *known,
                              .world_size = world->size(),
                              .producer = "eroica-import",
                              .producer_version = std::string(kImporterVersion),
                              .window_steps = window_steps};
    const EventBatch batch =
        StandingBatch(dumped, std::move(identity), &report.files[own.file].counts);
    if (absl::Status status = sink.Write(batch); !status.ok()) return status;
    report.ranks.push_back(rank);
    ++report.batches;
  }
  for (const FileReport& file : report.files) report.total.Add(file.counts);
  return report;
}

}  // namespace eroica
