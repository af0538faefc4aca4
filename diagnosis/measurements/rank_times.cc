#include "diagnosis/measurements/rank_times.h"

#include <iterator>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

PatternBatch RecordOf(const RankTimes& times, const JobId& job) {
  PatternBatch record;
  record.job = job;
  record.world_size = times.world_size;
  record.window = times.window;
  record.role = times.roles;
  record.pid = times.processes;
  record.patterns = times.device_calls;
  record.steps.reserve(times.rows.size());
  for (const RankTime& row : times.rows) {
    const auto wait_ns = static_cast<int64_t>(row.wait_ns);
    record.steps.push_back({.id = row.rank,
                            .duration_ns = static_cast<int64_t>(row.busy_ns) + wait_ns,
                            .peer_wait_ns = wait_ns});
  }
  return record;
}

RankTimes RankTimesIn(const PatternBatch& record) {
  RankTimes times{.window = record.window,
                  .world_size = record.world_size,
                  .rows = {},
                  .roles = record.role,
                  .processes = record.pid,
                  .device_calls = record.patterns};
  times.rows.reserve(record.steps.size());
  for (const StepRecord& step : record.steps) {
    times.rows.push_back({.rank = static_cast<uint32_t>(step.id),
                          .busy_ns = static_cast<float>(step.duration_ns - step.peer_wait_ns),
                          .wait_ns = static_cast<float>(step.peer_wait_ns)});
  }
  return times;
}

std::vector<uint32_t> NumbersOf(std::span<const RankView> ranks) {
  std::vector<uint32_t> numbers;
  numbers.reserve(ranks.size());
  std::ranges::transform(ranks, std::back_inserter(numbers),
                         [](const RankView& rank) { return rank.rank.value; });
  return numbers;
}

}  // namespace eroica
