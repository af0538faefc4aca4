// Claims of single slow steps: whether one rank has more of them than chance gives it, or many
// ranks share them out.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "diagnosis/ledger/claim_memory.h"
#include "diagnosis/measurements/thread_function.h"
#include "diagnosis/report/finding_measures.h"
#include "diagnosis/report/subkinds.h"
#include "diagnosis/statistics/distributions.h"

namespace eroica {

// What a program does to a rank on whose processor, or beside whose core, it runs.
bool ClaimMemory::MayBeANeighbor(const Record& record) {
  return record.function.starts_with(kWaitForProcessor) || IsWholeThread(record.function);
}

bool ClaimMemory::IsOccasional(const Record& record) {
  return 2 * record.slow_steps < record.steps;
}

bool ClaimMemory::MayRoam(const Record& record) {
  return record.roams && 2 * record.slow_steps <= record.steps;
}

// The false-alarm rate that the next test may spend.
double ClaimMemory::SpendFalseAlarms() {
  const auto asked = static_cast<double>(++asked_);
  const auto whole = static_cast<double>(options_.whole_questions);
  return asked <= whole ? options_.false_alarm_rate
                        : options_.false_alarm_rate * whole * whole / (asked * asked);
}

// That so many accidents of all windows happen to any one rank, at the rate at which the job has
// seen those of others.
double ClaimMemory::PValueOfAccidents(const Record& record, double places) const {
  std::set<int64_t> own;
  double others = 0;
  for (const Record& other : records_) {
    if (!other.accident) continue;
    if (SameFault(record, other)) {
      own.insert(other.window);
    } else {
      ++others;
    }
  }
  const double windows =
      std::min(WindowsUntil(record), static_cast<double>(options_.occasional_windows));
  const double rate =
      others > 0 ? (others + 1) / (windows + 1) : 0.5 / (options_.quiet_windows + windows);
  return places *
         BinomialTail(static_cast<uint64_t>(windows), own.size(), std::min(1.0, rate / places));
}

bool ClaimMemory::ComesBack(const Record& record, const Finding& claim) {
  const bool in_most = !record.ranks.empty() && 2 * record.slow_steps > record.steps;
  int64_t own = 0;
  int64_t all = 0;
  double share = 0;
  int64_t first = record.window;
  for (const Record& other : records_) {
    // A program that ran beside the rank is no more than one accident of what the rank runs itself.
    const bool visit = MayBeANeighbor(other) && !MayBeANeighbor(record);
    // Steps that are slow in a row may be one accident, unless no more than that is claimed now.
    const bool one_accident =
        !IsOccasional(other) &&
        (in_most || visit || record.window - other.window >= options_.lasting_windows);
    const int64_t times = one_accident ? 1 : other.slow_steps;
    all += times;
    if (!SameFault(record, other)) continue;
    own += times;
    share += visit ? 0 : other.share;
    first = std::min(first, other.window);
  }
  const double mean_share =
      share / static_cast<double>(std::max(record.window - first + 1, WindowsOfAccidents(record)));
  if (mean_share < options_.min_share) return false;
  const double places = static_cast<double>(claim.ranks_seen) /
                        static_cast<double>(std::max<size_t>(1, record.ranks.size()));
  if (places <= 1) return true;
  const double part = claim.subkind == kLateArrival ? options_.share_of_late_arrivals : 1;
  const double by_turns =
      places * BinomialTail(static_cast<uint64_t>(all), static_cast<uint64_t>(own), 1 / places);
  if (mean_share >= options_.large_share && own == all && first < record.window &&
      by_turns <= options_.p_value_of_large)
    return true;
  const double by_rate = record.accident ? PValueOfAccidents(record, places) : 1;
  return std::min(by_turns, by_rate) < part * SpendFalseAlarms();
}

// How many ranks take turns in the function of the record; 0 where one of them has half of the
// turns, or few do. So many as would be enough come together here: what took turns among them was
// told already (MergeRoaming).
size_t ClaimMemory::RanksThatRoam(const Record& record) const {
  if (!MayRoam(record) || record.ranks.size() >= options_.fewest_roaming) return 0;
  std::map<int32_t, int64_t> turns;
  int64_t all = 0;
  double share = 0;
  for (const Record& other : records_) {
    if (record.window - other.window >= options_.lasting_windows || !MayRoam(other) ||
        other.function != record.function)
      continue;
    for (const int32_t rank : other.ranks) turns[rank] += other.slow_steps;
    all += other.slow_steps * static_cast<int64_t>(other.ranks.size());
    share += other.share;
  }
  const double windows =
      std::min(WindowsUntil(record), static_cast<double>(options_.lasting_windows));
  if (record.function.starts_with(kWaitForProcessor) && WindowsOf(record) < kWindowsOfSharedWaits)
    return 0;
  if (!CostsItsShare(record, options_.min_share)) return 0;
  if (record.function.empty() && share < options_.min_share_without_function * windows) return 0;
  const bool shared = std::all_of(turns.begin(), turns.end(),
                                  [all](const auto& entry) { return 2 * entry.second < all; });
  return shared && turns.size() >= options_.fewest_roaming ? turns.size() : 0;
}

// Ranks of a host that is short of processors wait for them in turn, for as long as somebody else
// uses these: what rotates so must last for longer than an accident does.
bool ClaimMemory::RoamsForLong(const Record& record) const {
  if (!record.function.starts_with(kWaitForProcessor))
    return WindowsOf(record) >= record.least_windows;
  const int64_t needed =
      std::max({record.least_windows, kWindowsOfSharedWaits, WindowsOfAccidents(record)});
  return WindowsOf(record, std::max(options_.lasting_windows, needed),
                   [](const Record&) { return true; }) >= needed;
}

// In which the longest accident is less than min_share.
int64_t ClaimMemory::TimeOfAccidentsNs() const {
  return static_cast<int64_t>(static_cast<double>(options_.scheduling_period_ns) /
                              options_.min_share);
}

// So many windows like the record's own are the time over which accidents are counted.
int64_t ClaimMemory::WindowsOfAccidents(const Record& record) const {
  if (record.duration_ns <= 0) return 1;
  return std::clamp<int64_t>((TimeOfAccidentsNs() - 1) / record.duration_ns + 1, 1,
                             options_.occasional_windows);
}

// Somebody else's program is an accident as long as it runs: it must hold the rank up for more than
// the time over which accidents are counted.
bool ClaimMemory::MayBeABriefNeighbor(const Record& record) const {
  if (!MayBeANeighbor(record)) return false;
  const int64_t needed = WindowsOfAccidents(record);
  const int64_t kept = std::max(options_.lasting_windows, needed);
  return WindowsOf(record, kept, MayBeANeighbor) < needed;
}

// How long the ranks were late that are, or are not, those of the record: in most steps of a window
// for all of it, else once.
double ClaimMemory::TimeOfTurnsNs(const Record& record, bool own) const {
  std::map<std::pair<int64_t, int32_t>, double> turns;  // by window and rank
  for (const Record& other : records_) {
    if (other.kind != record.kind || other.ripe || other.ranks.empty()) continue;
    if (SameFault(record, other) != own) continue;
    const auto accident_ns = static_cast<double>(TimeOfAccidentsNs());
    const auto window_ns = static_cast<double>(other.duration_ns);
    const int32_t rank = own ? 0 : other.ranks.front();
    turns[{other.window, rank}] =
        IsOccasional(other) ? std::min(window_ns, accident_ns) : window_ns;
  }
  double time_ns = 0;
  for (const auto& [turn, ns] : turns) time_ns += ns;
  return time_ns;
}

// How many sets of ranks like the record's a job has. Chance falls on those that are not recorded,
// too.
double ClaimMemory::PlacesOf(const Record& record, const Finding& claim) {
  return static_cast<double>(std::max(claim.ranks_seen, claim.world_size)) /
         static_cast<double>(std::max<size_t>(1, record.ranks.size()));
}

// Where all ranks of a host wait for processors, somebody waits longest in every period of the
// scheduler's accidents. The rank must be the one in so many of them that chance makes it so in
// fewer jobs than the false-alarm rate. What became a finding is none of these.
bool ClaimMemory::IsBeyondTurns(const Record& record, const Finding& claim) {
  const double places = PlacesOf(record, claim);
  if (places <= 1) return false;  // all ranks: none is slower than the others
  const auto periods = [&](bool own) {
    return static_cast<uint64_t>(TimeOfTurnsNs(record, own) /
                                 static_cast<double>(TimeOfAccidentsNs()));
  };
  const uint64_t own = periods(true);
  const double p_value = places * BinomialTail(own + periods(false), own, 1 / places);
  return own > 0 && p_value < SpendFalseAlarms();
}

// Likewise, in a job of one window: the rank has as many of the periods as of the steps, and nobody
// knows which ranks have the others. A step that is longer than a period is one turn.
bool ClaimMemory::IsBeyondTurnsOfWindow(const Record& record, const Finding& claim) {
  const double places = PlacesOf(record, claim);
  if (places <= 1) return false;  // all ranks: none is slower than the others
  if (record.steps <= 0) return false;
  const auto steps = static_cast<double>(record.steps);
  const double turns = std::min(
      steps, static_cast<double>(record.duration_ns) / static_cast<double>(TimeOfAccidentsNs()));
  const double part = std::min(1.0, static_cast<double>(record.slow_steps) / steps);
  const auto own = static_cast<uint64_t>(turns * part);
  const double p_value = places * BinomialTail(static_cast<uint64_t>(turns), own, 1 / places);
  return own > 0 && p_value < SpendFalseAlarms();
}

// A single window shows no more than the scheduler may take at once, in single steps or by less
// than steps differ.
bool ClaimMemory::MayBeOneAccident(const Record& record, const Finding& claim) {
  if (MayBeABriefNeighbor(record)) return true;
  if (FindMeasure(claim, kSharedProcessors) != nullptr)
    return !IsBeyondTurnsOfWindow(record, claim);
  const double lost_ns = record.share * static_cast<double>(record.duration_ns);
  return record.duration_ns > 0 && lost_ns < static_cast<double>(options_.scheduling_period_ns) &&
         (IsOccasional(record) || !IsUnlikelyUnevenness(record, claim));
}

// Over that time; the ranks may change.
bool ClaimMemory::CostsItsShare(const Record& record, double min_share) const {
  const int64_t windows = WindowsOfAccidents(record);
  double share = 0;
  for (const Record& other : records_) {
    const bool alike = record.ranks.empty() ? other.ranks.empty() && other.kind == record.kind
                                            : MayRoam(other) && other.function == record.function;
    if (alike && record.window - other.window < windows) share += other.share;
  }
  return share >= min_share * static_cast<double>(windows);
}

}  // namespace eroica
