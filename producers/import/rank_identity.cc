#include "producers/import/rank_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "producers/import/trace_folder.h"
#include "schemas/codec.h"

namespace eroica {
namespace {

constexpr int64_t kMaxWorldSize = CodecLimits::kRanks;

void Refuse(const RankTrace& trace, FileReport& file, DropReason reason, std::string warning) {
  file.counts.skipped.Add(reason, trace.events);
  file.counts.imported -= trace.events;
  file.refused = file.counts.imported == 0;
  file.warnings.push_back(std::move(warning));
}

// Ranks of one job state one world size, and one list of members for a group.
absl::Status CheckOneJob(std::span<RankTrace* const> traces, std::span<const FileReport> files) {
  const RankTrace* sized = nullptr;
  std::map<std::pair<std::string, std::string>, std::pair<const RankTrace*, const ProcessGroup*>>
      groups;
  for (const RankTrace* trace : traces) {
    if (trace->world_size > 0) {
      if (sized == nullptr) sized = trace;
      if (sized->world_size != trace->world_size) {
        return absl::FailedPreconditionError(
            fmt::format("these are traces of more than one job: {} is of a job of {} ranks, {} of "
                        "one of {}; give the files of one job at "
                        "a time, each job in a folder "
                        "of its own",
                        NameAmong(files[sized->file], files), sized->world_size,
                        NameAmong(files[trace->file], files), trace->world_size));
      }
    }
    for (const ProcessGroup& group : trace->groups) {
      if (group.ranks.empty() || group.name.empty()) continue;
      const auto [known, added] =
          groups.try_emplace({group.name, group.description}, trace, &group);
      const bool overlap =
          std::find_first_of(group.ranks.begin(), group.ranks.end(),
                             known->second.second->ranks.begin(),
                             known->second.second->ranks.end()) != group.ranks.end();
      if (!added && overlap && known->second.second->ranks != group.ranks) {
        return absl::FailedPreconditionError(fmt::format(
            "these are traces of more than one job: the process group \"{}\" has other members in "
            "{} than in {}; give the files of one job at a time",
            group.name, NameAmong(files[trace->file], files),
            NameAmong(files[known->second.first->file], files)));
      }
    }
  }
  return absl::OkStatus();
}

// Whether the trace has a rank after this.
bool SettleRank(RankTrace& trace, FileReport& file, bool only_trace) {
  if (trace.rank < 0) trace.rank = RankOfFileName(file.path);
  if (trace.rank < 0 && only_trace) {
    trace.rank = 0;
    file.warnings.push_back(
        "neither the trace nor its name says which rank it is of; it is taken for rank 0");
  }
  if (trace.rank < 0) {
    Refuse(trace, file, DropReason::kInvalidIdentity,
           "neither the trace (distributedInfo) nor its name (rank3.json) says which rank it is "
           "of, and there are other traces; name it by "
           "its rank");
    return false;
  }
  const int64_t world_size = trace.world_size > 0 ? trace.world_size : kMaxWorldSize;
  if (trace.rank >= world_size || world_size > kMaxWorldSize) {
    Refuse(trace, file, DropReason::kInvalidIdentity,
           trace.world_size > 0
               ? fmt::format("it claims to be rank {} of {}, which cannot be", trace.rank,
                             trace.world_size)
               : fmt::format("it claims to be rank {}, which cannot be: the most are {} ranks",
                             trace.rank, kMaxWorldSize));
    return false;
  }
  return true;
}

std::string NoRankText(std::span<const FileReport> files) {
  std::string text = "of no file it is known which rank it is of:";
  for (const FileReport& file : files) {
    if (!file.warnings.empty() && text.size() < 2'000)
      text += fmt::format("\n  {}: {}", file.path.string(), file.warnings.back());
  }
  return text;
}

// What the traces speak of at most, where none states the world's size.
int64_t LargestSpokenOf(std::span<RankTrace* const> traces) {
  int64_t size = 0;
  for (const RankTrace* trace : traces) {
    for (const ProcessGroup& group : trace->groups) {
      size = std::max(size, int64_t{group.size});
      for (const uint32_t member : group.ranks) size = std::max(size, int64_t{member} + 1);
    }
  }
  return size;
}

// Members that cannot be, or that are not of this world, are as good as unknown.
void CheckGroups(const World& world, RankTrace& trace, FileReport& file) {
  for (ProcessGroup& group : trace.groups) {
    if (group.wrong_members) {
      file.warnings.push_back(fmt::format(
          "the process group \"{}\" lists members that are no ranks, or one twice; its members are "
          "taken as unknown",
          group.name));
    }
    const std::optional<uint32_t> outside = world.Outside(group.ranks);
    if (!outside) continue;
    file.warnings.push_back(
        fmt::format("the process group \"{}\" names rank {} in a job of {} ranks; its members are "
                    "taken as unknown",
                    group.name, *outside, world.size()));
    group.ranks = {};
  }
}

std::string MissingRanks(std::span<RankTrace* const> present, uint32_t world_size) {
  std::string list;
  size_t next = 0;
  uint32_t missing = 0;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    if (next < present.size() && present[next]->rank == rank) {
      ++next;
      continue;
    }
    if (++missing <= 16) list += fmt::format("{}{}", list.empty() ? "" : ", ", rank);
  }
  return missing > 16 ? list + fmt::format(" and {} more", missing - 16) : list;
}

}  // namespace

absl::StatusOr<std::vector<RankTrace*>> SettleRanks(std::span<RankTrace* const> traces,
                                                    std::span<FileReport> files) {
  if (absl::Status status = CheckOneJob(traces, files); !status.ok()) return status;
  std::map<int64_t, RankTrace*> by_rank;
  for (RankTrace* trace : traces) {
    FileReport& file = files[trace->file];
    if (!SettleRank(*trace, file, traces.size() == 1)) continue;
    const auto [taken, added] = by_rank.try_emplace(trace->rank, trace);
    if (!added) {
      Refuse(*trace, file, DropReason::kConflictingRank,
             fmt::format("a second trace of rank {} (the first is {}): it was left out; "
                         "another run, or another cycle of schedule(repeat=...), goes into a "
                         "folder of its own",
                         trace->rank, NameAmong(files[taken->second->file], files)));
      continue;
    }
    file.rank = trace->rank;
  }
  if (by_rank.empty()) return absl::FailedPreconditionError(NoRankText(files));
  std::vector<RankTrace*> settled;
  for (const auto& [rank, trace] : by_rank) settled.push_back(trace);
  return settled;
}

absl::StatusOr<SettledWorld> SettleWorld(std::span<RankTrace* const> traces,
                                         std::span<FileReport> files) {
  int64_t stated = 0;
  int64_t present = 0;
  for (const RankTrace* trace : traces) {
    stated = std::max(stated, trace->world_size);
    present = std::max(present, trace->rank + 1);
  }
  const int64_t size = std::max(present, stated > 0 ? stated : LargestSpokenOf(traces));
  const std::optional<World> world = World::OfSize(size);
  if (!world) {
    return absl::InvalidArgumentError(
        fmt::format("the traces speak of a job of {} ranks, which cannot be; the most are {}", size,
                    CodecLimits::kRanks));
  }
  SettledWorld settled{.world = *world, .warnings = {}};
  for (RankTrace* trace : traces) CheckGroups(*world, *trace, files[trace->file]);
  if (traces.size() < world->size()) {
    settled.warnings.push_back(fmt::format(
        "{} of {} ranks are missing ({}): findings rest on the others",
        world->size() - traces.size(), world->size(), MissingRanks(traces, world->size())));
  }
  return settled;
}

}  // namespace eroica
