#include "producers/import/dump_moment.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

constexpr int64_t kLeastStandstillNs = kNsPerSecond / 2;

std::optional<int64_t> WrittenNs(const std::filesystem::path& path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0) return std::nullopt;
  return file.st_mtim.tv_sec * kNsPerSecond + file.st_mtim.tv_nsec;
}

// The operations that one rank has in flight, and its pace before.
struct Waiting {
  int64_t since_ns = INT64_MAX;  // the first launch of it
  int64_t last_ns = 0;           // the last launch of all
  int64_t longest_pause_ns = 0;  // between two launches
  bool timed_out = false;
};

std::optional<Waiting> WaitingOf(const RankDump& own, const RankLaunches& launches,
                                 int64_t written_ns) {
  Waiting waiting;
  std::vector<int64_t> times;
  for (size_t i = 0; i < own.dump.entries.size(); ++i) {
    if (launches.of_entry[i] == RankLaunches::kNone) continue;
    const FlightRecorderDump::Entry& entry = own.dump.entries[i];
    times.push_back(entry.created_ns);
    if (launches.rows[launches.of_entry[i]].ended) continue;
    waiting.since_ns = std::min(waiting.since_ns, entry.created_ns);
    waiting.timed_out = waiting.timed_out || (entry.timeout_ns > 0 && entry.created_ns >= 0 &&
                                              written_ns - entry.created_ns >= entry.timeout_ns);
  }
  if (waiting.since_ns == INT64_MAX) return std::nullopt;
  std::ranges::sort(times);
  for (size_t i = 1; i < times.size(); ++i)
    waiting.longest_pause_ns = std::max(waiting.longest_pause_ns, times[i] - times[i - 1]);
  waiting.last_ns = times.back();
  return waiting;
}

bool IsEarly(const Waiting& waiting, int64_t written_ns) {
  // The clock was set, or the file has a time that is not its own.
  if (waiting.since_ns < 0 || written_ns < waiting.last_ns || waiting.timed_out) return false;
  return written_ns - waiting.since_ns < std::max(2 * waiting.longest_pause_ns, kLeastStandstillNs);
}

std::string Duration(int64_t ns) {
  return ns < kNsPerSecond ? fmt::format("{} ms", ns / kNsPerMs)
                           : fmt::format("{:.1f} s", static_cast<double>(ns) / 1e9);
}

}  // namespace

std::optional<std::string> WhyNoStandstillYet(const RankDumps& dumps,
                                              const std::map<uint32_t, RankLaunches>& launches,
                                              const ImportReport& report) {
  bool any = false;
  int64_t age_ns = 0, pause_ns = 0;
  for (const auto& [rank, own] : dumps) {
    const std::optional<int64_t> written_ns = WrittenNs(report.files[own.file].path);
    if (!written_ns) return std::nullopt;
    const std::optional<Waiting> waiting = WaitingOf(own, launches.at(rank), *written_ns);
    if (!waiting) continue;
    if (!IsEarly(*waiting, *written_ns)) return std::nullopt;
    any = true;
    age_ns = std::max(age_ns, *written_ns - waiting->since_ns);
    pause_ns = std::max(pause_ns, waiting->longest_pause_ns);
  }
  if (!any) return std::nullopt;
  return fmt::format(
      "The dumps were written at most {} after the launch of what is in flight, by the times of "
      "their files; up to {} lay between two launches before. A running job looks the same. Take "
      "the dumps again, later: an operation that is in flight in both stands still.",
      Duration(age_ns), Duration(pause_ns));
}

}  // namespace eroica
