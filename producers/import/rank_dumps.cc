#include "producers/import/rank_dumps.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "producers/import/trace_folder.h"
#include "schemas/codec.h"

namespace eroica {
namespace {

using Entry = FlightRecorderDump::Entry;

struct ReadDump {
  FlightRecorderDump dump;
  size_t file = 0;
  uint32_t rank = 0;
};

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

// The later of two; of equally late ones a pickle, which holds the call stacks: JSON does not.
bool TellsMore(const FlightRecorderDump& x, const FlightRecorderDump& y) {
  const Recorded of_x = RecordedBy(x).value_or(Recorded());
  const Recorded of_y = RecordedBy(y).value_or(Recorded());
  return of_x.last_ns != of_y.last_ns ? of_x.last_ns > of_y.last_ns
                                      : x.sites.size() > y.sites.size();
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
  std::vector<const ReadDump*> dumps;
};

size_t RanksOf(const Attempt& attempt) {
  std::set<uint32_t> ranks;
  for (const ReadDump* dump : attempt.dumps) ranks.insert(dump->rank);
  return ranks.size();
}

// Recordings that overlap, or lie close together, are of one attempt.
std::vector<Attempt> AttemptsOf(const std::vector<ReadDump>& dumps) {
  std::vector<std::pair<Recorded, const ReadDump*>> recordings;
  for (const ReadDump& dump : dumps) {
    if (const std::optional<Recorded> recorded = RecordedBy(dump.dump))
      recordings.emplace_back(*recorded, &dump);
  }
  std::ranges::stable_sort(recordings, {}, [](const auto& row) { return row.first.first_ns; });
  std::vector<Attempt> attempts;
  for (const auto& [recorded, dump] : recordings) {
    const bool apart =
        attempts.empty() || recorded.first_ns - attempts.back().recorded.last_ns > kAttemptsApartNs;
    if (apart) attempts.push_back({recorded, {}});
    Attempt& attempt = attempts.back();
    attempt.recorded.last_ns = std::max(attempt.recorded.last_ns, recorded.last_ns);
    attempt.dumps.push_back(dump);
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

// "it ends 3 hours before the dumps of 4 ranks, and counts the same operations"
std::string ApartFrom(const Attempt& own, const Attempt& attempt, std::string_view it_ends) {
  const bool before = attempt.recorded.last_ns < own.recorded.first_ns;
  const int64_t apart_ns = before ? own.recorded.last_ns - attempt.recorded.last_ns
                                  : attempt.recorded.first_ns - own.recorded.first_ns;
  return fmt::format("{} {} {} the dumps of {} ranks", it_ends, ApartText(apart_ns),
                     before ? "before" : "behind", RanksOf(own));
}

// Refuses the dumps of other attempts, and leaves those of the attempt of most ranks.
void DropOtherAttempts(std::vector<ReadDump>* dumps, ImportReport* report) {
  const std::vector<Attempt> attempts = AttemptsOf(*dumps);
  if (attempts.size() < 2) return;
  const auto own = std::ranges::max_element(attempts, [](const Attempt& x, const Attempt& y) {
    return RanksOf(x) != RanksOf(y) ? RanksOf(x) < RanksOf(y)
                                    : x.recorded.last_ns < y.recorded.last_ns;
  });
  std::set<size_t> others;  // files
  for (const Attempt& attempt : attempts) {
    if (&attempt == &*own) continue;
    const bool before = attempt.recorded.last_ns < own->recorded.first_ns;
    size_t again = 0;  // of ranks that have a dump in the attempt of most
    for (const ReadDump* dump : attempt.dumps) {
      const bool other = std::ranges::any_of(own->dumps, [&](const ReadDump* peer) {
        return before ? ContradictEachOther(dump->dump, peer->dump)
                      : ContradictEachOther(peer->dump, dump->dump);
      });
      if (!other) continue;
      others.insert(dump->file);
      if (std::ranges::find(own->dumps, dump->rank, &ReadDump::rank) != own->dumps.end()) {
        report->files[dump->file].refused = true;
        ++again;
        continue;
      }
      Refuse(report->files[dump->file],
             fmt::format("it is of another attempt, or the clock of its host is wrong: {}, and "
                         "counts the same operations; rank {} counts as a rank without a dump",
                         ApartFrom(*own, attempt, "it ends"), dump->rank));
    }
    if (again == 0) continue;
    report->warnings.push_back(fmt::format(
        "{} of {} files are of another attempt, or the clocks of their hosts are wrong: {}, and "
        "count the same operations; they were left out, their ranks have dumps among those",
        again, report->files.size(), ApartFrom(*own, attempt, "they end")));
  }
  std::erase_if(*dumps, [&](const ReadDump& dump) { return others.contains(dump.file); });
}

// By the names of all: a name may end in what all have in common ("rank3_step_100").
std::vector<int64_t> RanksByName(const std::vector<FileReport>& files) {
  std::vector<int64_t> at_the_end, behind_the_word;
  for (const FileReport& file : files) {
    at_the_end.push_back(RankOfDumpName(file.path));
    behind_the_word.push_back(RankBehindTheWord(file.path));
  }
  const auto distinct = [](const std::vector<int64_t>& ranks) {
    std::set<int64_t> known(ranks.begin(), ranks.end());
    return std::ranges::count_if(known, [](int64_t r) { return r >= 0 && r <= kLargestRank; });
  };
  return distinct(behind_the_word) > distinct(at_the_end) ? behind_the_word : at_the_end;
}

std::vector<ReadDump> ReadAll(ImportReport* report) {
  std::vector<ReadDump> dumps;
  const std::vector<int64_t> ranks = RanksByName(report->files);
  for (size_t i = 0; i < report->files.size(); ++i) {
    FileReport& file = report->files[i];
    std::error_code error;
    if (const uintmax_t size = std::filesystem::file_size(file.path, error); !error)
      file.counts.file_bytes = file.counts.content_bytes = size;
    if (ranks[i] < 0 || ranks[i] > kLargestRank) {
      Refuse(file,
             "its name does not say which rank it is of; name it by its rank (fr_rank3.json)");
      continue;
    }
    file.rank = ranks[i];
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
    dumps.push_back({*std::move(dump), i, static_cast<uint32_t>(ranks[i])});
  }
  return dumps;
}

}  // namespace

RankDumps ReadRankDumps(ImportReport* report) {
  std::vector<ReadDump> read = ReadAll(report);
  DropOtherAttempts(&read, report);
  RankDumps dumps;
  size_t second = 0;
  for (ReadDump& own : read) {
    const auto known = dumps.find(own.rank);
    if (known == dumps.end()) {
      dumps.emplace(own.rank, RankDump{std::move(own.dump), own.file});
    } else if ((RecordersIn(known->second.dump) & RecordersIn(own.dump)) == 0) {
      Join(std::move(own.dump), &known->second.dump);
    } else {
      const bool better = TellsMore(own.dump, known->second.dump);
      report->files[better ? known->second.file : own.file].refused = true;
      ++second;
      if (better) known->second = {std::move(own.dump), own.file};
    }
  }
  if (second > 0) {
    report->warnings.push_back(
        fmt::format("{} of {} files are second dumps of ranks that have one: they were left out",
                    second, report->files.size()));
  }
  return dumps;
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
    FileReport& file = report->files[at->second.file];
    if (file.counts.file_bytes == 0) {
      file.refused = true;  // and says why
      at = dumps->erase(at);
      continue;
    }
    Refuse(
        file,
        "it is empty: the recorder was off, or the rank never launched anything; the rank counts "
        "as one without a dump");
    at = dumps->erase(at);
  }
}

}  // namespace eroica
