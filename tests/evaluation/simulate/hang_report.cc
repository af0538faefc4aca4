#include "tests/evaluation/simulate/hang_report.h"

#include <algorithm>
#include <tuple>

namespace eroica::simulate {
namespace {

uint32_t FunctionOfThread(const RankState& rank, const StageProgram& stage) {
  if (rank.condition == RankCondition::kHangs) return rank.hang_function;
  return rank.condition == RankCondition::kResting ? stage.instructions[rank.counter].function
                                                   : kNoParent;
}

}  // namespace

ProgressReport DescribeStandstill(const RankState& rank, const StageProgram& stage,
                                  const StepRunner& runner, int64_t time_ns) {
  ProgressReport report{
      .time_ns = time_ns, .step = rank.step, .function = FunctionOfThread(rank, stage)};
  for (const RankStream& stream : rank.streams) {
    const uint32_t ended = runner.rendezvous(stream.rendezvous).ended();
    for (const LaunchedCollective& row : stream.rows) {
      if (row.slot < ended) continue;
      const OperationSeries& series = stage.series[row.series];
      report.in_flight.push_back({.communicator = stage.streams[series.stream].communicator,
                                  .operation = series.operation,
                                  .started = row.slot == ended && row.ready_ns < kNeverNs,
                                  .peer = stream.peer,
                                  .sequence = row.sequence,
                                  .bytes = row.bytes,
                                  .launched_ns = row.launched_ns});
    }
  }
  std::sort(report.in_flight.begin(), report.in_flight.end(),
            [](const InFlightCollective& a, const InFlightCollective& b) {
              return std::tie(a.communicator, a.operation, a.peer, a.sequence) <
                     std::tie(b.communicator, b.operation, b.peer, b.sequence);
            });
  return report;
}

std::vector<ConnectionSample> DescribeStalledConnections(const RankState& rank,
                                                         const StepRunner& runner, int64_t time_ns,
                                                         int64_t stretch_ns) {
  std::vector<ConnectionSample> samples;
  for (const StepRunner::StalledFlow& flow : runner.StalledFlows(rank)) {
    samples.push_back({.time_ns = time_ns,
                       .peer = flow.peer,
                       .resource = flow.resource,
                       .bytes = 0,
                       .busy_ns = stretch_ns});
  }
  return samples;
}

}  // namespace eroica::simulate
