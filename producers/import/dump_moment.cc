#include "producers/import/dump_moment.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <tuple>

#include "producers/import/dump_waits.h"
#include "schemas/codec.h"
#include "schemas/synchronizing_operation.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

std::optional<int64_t> WrittenNs(const std::filesystem::path& path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0) return std::nullopt;
  if (file.st_mtim.tv_sec < 0 || file.st_mtim.tv_sec >= CodecLimits::kMaxTimeNs / kNsPerSecond)
    return std::nullopt;  // beyond the times of batches
  return file.st_mtim.tv_sec * kNsPerSecond + file.st_mtim.tv_nsec;
}

// Two members are in one operation, and not in the same kind or size of it: they never meet.
bool PlansDisagree(const RankDumps& dumps, const std::map<uint32_t, RankLaunches>& launches) {
  std::map<std::pair<uint32_t, int64_t>, std::tuple<CollectiveOperation, uint64_t>> plans;
  for (const auto& [rank, own] : launches) {
    const std::vector<FlightRecorderDump::Entry>& entries = dumps.at(rank).dump.entries;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (own.of_entry[i] == RankLaunches::kNone) continue;
      const DumpLaunch& launch = own.rows[own.of_entry[i]];
      if (launch.ended || launch.point_to_point || launch.entries > 1) continue;
      const CollectiveOperation operation = entries[i].operation;
      const std::tuple plan(operation, NeedsOneSize(operation) ? entries[i].bytes : 0);
      const auto [first, is_new] = plans.try_emplace({launch.group, launch.sequence}, plan);
      if (!is_new && first->second != plan) return true;
    }
  }
  return false;
}

std::string Duration(int64_t ns) {
  constexpr int64_t kLongS = 7'200;
  constexpr double kSecondsPerHour = 3'600;
  if (ns < kNsPerSecond) return fmt::format("{} ms", ns / kNsPerMs);
  const double seconds = static_cast<double>(ns) / static_cast<double>(kNsPerSecond);
  if (ns < kLongS * kNsPerSecond) return fmt::format("{:.1f} s", seconds);
  return fmt::format("{:.0f} hours", seconds / kSecondsPerHour);
}

// By the times of the files, of what is in flight on any rank.
struct Ages {
  int64_t oldest_ns = 0;
  int64_t limit_ns = 0;     // of the operation that is the oldest
  bool unknown = false;     // a file without a time, or older than what it holds
  bool passed = false;      // the limit of an operation
  bool passed_far = false;  // the watchdog had not waited for so long
};
Ages AgesOf(const RankDumps& dumps, const std::map<uint32_t, DumpWait>& waits,
            const ImportReport& report) {
  // The watchdog looks in intervals, and writes once its heartbeat says so.
  constexpr int64_t kLateWatchdogNs = 600 * kNsPerSecond;
  Ages ages;
  for (const auto& [rank, wait] : waits) {
    const std::optional<int64_t> written_ns = WrittenNs(report.files[dumps.at(rank).file].path);
    if (!written_ns || *written_ns < wait.last_ns) {
      ages.unknown = true;
      continue;
    }
    for (const DumpWait::Operation& operation : wait.in_flight) {
      const int64_t age_ns = *written_ns - operation.created_ns;
      ages.passed = ages.passed || age_ns >= operation.limit_ns;
      ages.passed_far = ages.passed_far || (age_ns - kLateWatchdogNs) / 2 >= operation.limit_ns;
      if (age_ns <= ages.oldest_ns) continue;
      ages.oldest_ns = age_ns;
      ages.limit_ns = operation.limit_ns;
    }
  }
  return ages;
}

std::string SayNotShown(const Ages& ages, const std::string& in_flight) {
  const std::string when =
      ages.unknown ? "the times of their files are from before it, or are not known"
                   : fmt::format(
                         "by the times of their files, which are the copies' where they were "
                         "copied without them, they were written at most {} after the launch of "
                         "what is in flight, whose limit is {}",
                         Duration(ages.oldest_ns), Duration(ages.limit_ns));
  return fmt::format(
      "Nothing shows how long what is in flight had stood: a dump does not hold the moment at "
      "which "
      "it was written, and {}. A running job looks the same. {} Take the dumps again, later: what "
      "is in flight in both stands still. Or keep those that the watchdog writes when the limit "
      "has "
      "passed, with their times (cp -p, rsync -t).",
      when, in_flight);
}

std::string SayOfCopies(const Ages& ages) {
  return fmt::format(
      "The times of the files lie far beyond the limit of what is in flight, {}: these seem to be "
      "the times of copies. The dumps are read as written when the limit had passed. Dumps of a "
      "job "
      "that ran look the same once they are copied without their times (cp -p and rsync -t keep "
      "them).",
      Duration(ages.limit_ns));
}

}  // namespace

DumpStandstill StandstillShownBy(const RankDumps& dumps, const DumpGroups& groups,
                                 const std::map<uint32_t, RankLaunches>& launches,
                                 const DumpSides& sides, const ImportReport& report) {
  const std::map<uint32_t, DumpWait> waits = DumpWaitsOf(dumps, groups, launches);
  if (waits.empty() || !sides.empty() || PlansDisagree(dumps, launches)) return {};
  if (std::ranges::any_of(waits, [](const auto& row) { return row.second.ShowsStandstill(); }))
    return {};
  const Ages ages = AgesOf(dumps, waits, report);
  if (ages.passed_far) return {.standstill = Standstill::kOfCopies, .open = {SayOfCopies(ages)}};
  if (ages.passed) return {};
  return {.standstill = Standstill::kNotShown,
          .open = {SayNotShown(ages, OldestInFlightText(waits, groups, launches))}};
}

}  // namespace eroica
