#include "producers/import/rank_dumps.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "producers/import/trace_folder.h"
#include "schemas/codec.h"

namespace eroica {
namespace {

using Entry = FlightRecorderDump::Entry;

constexpr int64_t kLargestRank = int64_t{CodecLimits::kRanks} - 1;

void Refuse(FileReport& file, std::string why) {
  file.refused = true;
  file.warnings.push_back(std::move(why));
}

enum Recorders : unsigned { kOfDevices = 1, kOfHosts = 2 };
unsigned RecordersIn(const FlightRecorderDump& dump) {
  unsigned recorders = 0;
  for (const Entry& entry : dump.entries) recorders |= entry.on_host ? kOfHosts : kOfDevices;
  return recorders;
}

// Both in one, in order of time.
void Join(FlightRecorderDump&& from, FlightRecorderDump* into) {
  const auto sites = static_cast<uint32_t>(into->sites.size());
  std::ranges::move(from.sites, std::back_inserter(into->sites));
  std::vector<uint32_t> names;
  for (const FlightRecorderDump::GroupName& name : from.names) {
    const auto known = std::ranges::find(into->names, name);
    names.push_back(static_cast<uint32_t>(known - into->names.begin()));
    if (known == into->names.end()) into->names.push_back(name);
  }
  for (Entry& entry : from.entries) {
    if (entry.group != FlightRecorderDump::kNone) entry.group = names[entry.group];
    if (entry.site != FlightRecorderDump::kNone) entry.site += sites;
  }
  std::ranges::move(from.entries, std::back_inserter(into->entries));
  std::ranges::stable_sort(into->entries, {}, &Entry::created_ns);
  for (ProcessGroup& group : from.groups) {
    if (std::ranges::find(into->groups, group) == into->groups.end())
      into->groups.push_back(std::move(group));
  }
  into->starts_told = into->starts_told || from.starts_told;
  into->ever_enqueued = into->ever_enqueued || from.ever_enqueued;
  into->from_the_first = into->from_the_first && from.from_the_first;
}

// Pickles of a recorder hold the call stacks, its JSON does not.
bool TellsMore(const FlightRecorderDump& x, const FlightRecorderDump& y) {
  return x.entries.size() != y.entries.size() ? x.entries.size() > y.entries.size()
                                              : x.sites.size() > y.sites.size();
}

// From the earliest to the latest time of the entries; nothing where no entry has a time.
struct Recorded {
  int64_t first_ns = 0;
  int64_t last_ns = 0;
};
std::optional<Recorded> RecordedBy(const FlightRecorderDump& dump) {
  std::optional<Recorded> recorded;
  for (const Entry& entry : dump.entries) {
    if (entry.created_ns <= 0) continue;
    if (!recorded) recorded = Recorded{entry.created_ns, entry.created_ns};
    recorded->first_ns = std::min(recorded->first_ns, entry.created_ns);
    recorded->last_ns = std::max({recorded->last_ns, entry.created_ns, entry.completed_ns});
  }
  return recorded;
}

// Clocks of hosts differ by less, and an attempt does not begin so soon after another.
constexpr int64_t kAttemptsApartNs = int64_t{10} * 1'000'000'000;

std::string ApartText(int64_t apart_ns) {
  const double minutes = static_cast<double>(apart_ns) / 60e9;
  if (minutes < 2) return fmt::format("{:.0f} seconds", 60 * minutes);
  if (minutes < 120) return fmt::format("{:.0f} minutes", minutes);
  const double hours = minutes / 60;
  return hours < 48 ? fmt::format("{:.0f} hours", hours) : fmt::format("{:.0f} days", hours / 24);
}

struct Attempt {
  Recorded recorded;
  std::vector<uint32_t> ranks;
};

// Recordings that overlap, or lie close together, are of one attempt.
std::vector<Attempt> AttemptsOf(const RankDumps& dumps) {
  std::vector<std::pair<Recorded, uint32_t>> recordings;
  for (const auto& [rank, own] : dumps) {
    if (const std::optional<Recorded> recorded = RecordedBy(own.dump))
      recordings.emplace_back(*recorded, rank);
  }
  std::ranges::stable_sort(recordings, {}, [](const auto& row) { return row.first.first_ns; });
  std::vector<Attempt> attempts;
  for (const auto& [recorded, rank] : recordings) {
    const bool apart =
        attempts.empty() || recorded.first_ns - attempts.back().recorded.last_ns > kAttemptsApartNs;
    if (apart) attempts.push_back({recorded, {}});
    Attempt& attempt = attempts.back();
    attempt.recorded.last_ns = std::max(attempt.recorded.last_ns, recorded.last_ns);
    attempt.ranks.push_back(rank);
  }
  return attempts;
}

// The lowest and the highest number that a rank's dump holds of a group, and the highest that
// ended.
struct Numbers {
  int64_t lowest = -1;
  int64_t highest = -1;
  int64_t ended = -1;
};
std::map<std::pair<std::string, bool>, Numbers> NumbersOf(const FlightRecorderDump& dump) {
  std::vector<Numbers> rows(dump.names.size() * 2);
  for (const Entry& entry : dump.entries) {
    if (entry.point_to_point || entry.group == FlightRecorderDump::kNone || entry.sequence < 0)
      continue;
    Numbers& row = rows[entry.group * 2 + (entry.on_host ? 1 : 0)];
    row.lowest = row.lowest < 0 ? entry.sequence : std::min(row.lowest, entry.sequence);
    row.highest = std::max(row.highest, entry.sequence);
    if (entry.retired || entry.state == FlightRecorderDump::State::kCompleted)
      row.ended = std::max(row.ended, entry.sequence);
  }
  std::map<std::pair<std::string, bool>, Numbers> numbers;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].highest >= 0) numbers[{dump.names[i / 2].name, i % 2 == 1}] = rows[i];
  }
  return numbers;
}

// Whether two dumps whose times do not overlap cannot be of one attempt, in which the members of a
// group pass its numbers together: a number of some group has ended in the earlier dump and is in
// the later one, too; or the later one begins beyond the number behind the earlier one's last.
bool ContradictEachOther(const FlightRecorderDump& earlier, const FlightRecorderDump& later) {
  const auto of_earlier = NumbersOf(earlier);
  for (const auto& [group, numbers] : NumbersOf(later)) {
    const auto other = of_earlier.find(group);
    if (other == of_earlier.end()) continue;
    const bool both_hold = numbers.lowest <= other->second.ended;
    const bool far_beyond = numbers.lowest > other->second.highest + 1;
    if (both_hold || far_beyond) return true;
  }
  return false;
}

}  // namespace

RankDumps ReadRankDumps(ImportReport* report) {
  RankDumps dumps;
  size_t second = 0;
  for (size_t i = 0; i < report->files.size(); ++i) {
    FileReport& file = report->files[i];
    std::error_code error;
    if (const uintmax_t size = std::filesystem::file_size(file.path, error); !error)
      file.counts.file_bytes = file.counts.content_bytes = size;
    const int64_t rank = RankOfDumpName(file.path);
    if (rank < 0 || rank > kLargestRank) {
      Refuse(file,
             "its name does not say which rank it is of; name it by its rank (fr_rank3.json)");
      continue;
    }
    file.rank = rank;
    absl::StatusOr<FlightRecorderDump> dump = FlightRecorderDump();
    if (file.counts.file_bytes > 0) {
      dump = ReadFlightRecorderDump(file.path);
    } else {
      file.warnings.push_back("the file is empty: its writer did not come to write it");
    }
    if (!dump.ok()) {
      Refuse(file, fmt::format("not read: {}", std::string(dump.status().message())));
      continue;
    }
    const auto known = dumps.find(static_cast<uint32_t>(rank));
    if (known == dumps.end()) {
      dumps.emplace(static_cast<uint32_t>(rank), RankDump{*std::move(dump), i});
    } else if ((RecordersIn(known->second.dump) & RecordersIn(*dump)) == 0) {
      Join(*std::move(dump), &known->second.dump);
    } else {
      const bool better = TellsMore(*dump, known->second.dump);
      report->files[better ? known->second.file : i].refused = true;
      ++second;
      if (better) known->second = {*std::move(dump), i};
    }
  }
  if (second > 0) {
    report->warnings.push_back(
        fmt::format("{} of {} files are second dumps of ranks that have one: they were left out",
                    second, report->files.size()));
  }
  return dumps;
}

void DropOtherAttempts(RankDumps* dumps, ImportReport* report) {
  const std::vector<Attempt> attempts = AttemptsOf(*dumps);
  if (attempts.size() < 2) return;
  const auto own = std::ranges::max_element(attempts, [](const Attempt& x, const Attempt& y) {
    return x.ranks.size() != y.ranks.size() ? x.ranks.size() < y.ranks.size()
                                            : x.recorded.last_ns < y.recorded.last_ns;
  });
  for (const Attempt& attempt : attempts) {
    if (&attempt == &*own) continue;
    const bool before = attempt.recorded.last_ns < own->recorded.first_ns;
    for (const uint32_t rank : attempt.ranks) {
      const FlightRecorderDump& dump = dumps->at(rank).dump;
      const bool other = std::ranges::any_of(own->ranks, [&](uint32_t peer) {
        const FlightRecorderDump& theirs = dumps->at(peer).dump;
        return before ? ContradictEachOther(dump, theirs) : ContradictEachOther(theirs, dump);
      });
      if (!other) continue;
      const int64_t apart_ns = before ? own->recorded.last_ns - attempt.recorded.last_ns
                                      : attempt.recorded.first_ns - own->recorded.first_ns;
      Refuse(
          report->files[dumps->at(rank).file],
          fmt::format("it is of another attempt, or the clock of its host is wrong: it ends {} {} "
                      "the dumps of {} ranks, and counts the same operations; rank {} counts as "
                      "a rank without a dump",
                      ApartText(apart_ns), before ? "before" : "behind", own->ranks.size(), rank));
      dumps->erase(rank);
    }
  }
}

void DropUnrecorded(RankDumps* dumps, ImportReport* report) {
  const bool any =
      std::ranges::any_of(*dumps, [](const auto& row) { return !row.second.dump.entries.empty(); });
  if (!any) return;
  for (auto at = dumps->begin(); at != dumps->end();) {
    if (at->second.dump.ever_enqueued) {
      ++at;
      continue;
    }
    Refuse(
        report->files[at->second.file],
        "it is empty: the recorder was off, or the rank never launched anything; the rank counts "
        "as one without a dump");
    at = dumps->erase(at);
  }
}

}  // namespace eroica
