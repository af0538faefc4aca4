#include "producers/import/rank_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "producers/import/trace_folder.h"

namespace eroica {
namespace {

constexpr int64_t kMaxWorldSize = int64_t{1} << 20;

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
           fmt::format("it claims to be rank {} of {}, which cannot be", trace.rank,
                       trace.world_size));
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

// A group with members outside the world: its members are as good as unknown.
void CheckGroups(RankTrace& trace, FileReport& file, uint32_t world_size) {
  for (ProcessGroup& group : trace.groups) {
    const auto outside = std::find_if(group.ranks.begin(), group.ranks.end(),
                                      [world_size](uint32_t rank) { return rank >= world_size; });
    if (outside == group.ranks.end()) continue;
    file.warnings.push_back(
        fmt::format("the process group \"{}\" names rank {} in a job of {} ranks; its members are "
                    "taken as unknown",
                    group.name, *outside, world_size));
    group.ranks.clear();
  }
}

std::string MissingRanks(const std::vector<RankTrace*>& present, uint32_t world_size) {
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

absl::StatusOr<SettledRanks> SettleRanks(std::span<RankTrace* const> traces,
                                         std::span<FileReport> files) {
  if (absl::Status status = CheckOneJob(traces, files); !status.ok()) return status;
  SettledRanks settled;
  std::map<int64_t, RankTrace*> by_rank;
  int64_t world_size = 0;
  for (RankTrace* trace : traces) {
    FileReport& file = files[trace->file];
    if (!SettleRank(*trace, file, traces.size() == 1)) continue;
    const auto [taken, added] = by_rank.try_emplace(trace->rank, trace);
    if (!added) {
      Refuse(*trace, file, DropReason::kConflictingRank,
             fmt::format("a second trace of rank {} (the first is {}): it was left out; if it is "
                         "of another run, import that run from a "
                         "folder of its own",
                         trace->rank, NameAmong(files[taken->second->file], files)));
      continue;
    }
    file.rank = trace->rank;
    world_size = std::max({world_size, trace->world_size, trace->rank + 1});
  }
  if (by_rank.empty()) return absl::InvalidArgumentError(NoRankText(files));
  for (const auto& [rank, trace] : by_rank) settled.traces.push_back(trace);
  settled.world_size = static_cast<uint32_t>(world_size);
  for (RankTrace* trace : settled.traces)
    CheckGroups(*trace, files[trace->file], settled.world_size);
  if (settled.traces.size() < settled.world_size) {
    settled.warnings.push_back(
        fmt::format("{} of {} ranks are missing ({}): findings rest on the others",
                    settled.world_size - settled.traces.size(), settled.world_size,
                    MissingRanks(settled.traces, settled.world_size)));
  }
  return settled;
}

}  // namespace eroica
