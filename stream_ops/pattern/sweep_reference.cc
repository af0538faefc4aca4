#include "stream_ops/pattern/sweep_reference.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace eroica {
namespace {

constexpr int kNothing = kPriorityCount;

struct Moment {
  int priority = kNothing;       // the highest that runs
  std::vector<size_t> critical;  // intervals on the critical path
};

bool IsBeside(const SweepInput& input, const Interval& interval) {
  return input.functions[interval.function].function_class == FunctionClass::kCollective &&
         IsAsynchronous(interval.lane);
}

bool Counts(const SweepInput& input, const Interval& interval) {
  const bool python = input.functions[interval.function].function_class == FunctionClass::kPython;
  if (IsBeside(input, interval)) return false;
  return !python || input.lanes[interval.lane] == LaneKind::kTrainingThread;
}

bool InWindow(const SweepInput& input, const Interval& interval) {
  const bool starts_inside =
      interval.start_ns >= input.start_ns && interval.start_ns < input.end_ns;
  const bool reaches_in = interval.start_ns < input.start_ns && interval.end_ns > input.start_ns;
  return starts_inside || (reaches_in && input.start_ns < input.end_ns);
}

Moment At(const SweepInput& input, int64_t t) {
  Moment moment;
  std::vector<size_t> running;
  for (size_t i = 0; i < input.intervals.size(); ++i) {
    const Interval& interval = input.intervals[i];
    if (interval.start_ns > t || interval.end_ns <= t || !Counts(input, interval)) continue;
    running.push_back(i);
    const int priority =
        CriticalPathPriority(input.functions[interval.function].function_class, input.host_only);
    moment.priority = std::min(moment.priority, priority);
  }
  std::map<uint32_t, size_t> leaf;  // by lane: the last to start
  for (size_t i : running) {
    const FunctionClass function_class =
        input.functions[input.intervals[i].function].function_class;
    if (CriticalPathPriority(function_class, input.host_only) != moment.priority) continue;
    const bool host =
        function_class == FunctionClass::kPython || function_class == FunctionClass::kCpuOp;
    if (host) {
      leaf[input.intervals[i].lane] = i;
    } else {
      moment.critical.push_back(i);
    }
  }
  for (const auto& [lane, i] : leaf) moment.critical.push_back(i);
  return moment;
}

// A function counts once a lane on the host, once altogether on the device.
bool AddsTime(const SweepInput& input, const Moment& moment, size_t i) {
  const uint32_t function = input.intervals[i].function;
  if (input.functions[function].function_class >= FunctionClass::kPython) return true;
  return i == *std::find_if(moment.critical.begin(), moment.critical.end(),
                            [&](size_t j) { return input.intervals[j].function == function; });
}

bool WaitsForPeers(const SweepInput& input, const Moment& moment) {
  return std::any_of(moment.critical.begin(), moment.critical.end(), [&](size_t i) {
    const FunctionTraits& traits = input.functions[input.intervals[i].function];
    return traits.function_class == FunctionClass::kCollective || traits.wait == WaitKind::kPeer;
  });
}

// By a host function.
int64_t WaitsWithin(const SweepInput& input, const std::vector<Moment>& moments, int64_t from,
                    int64_t to) {
  int64_t waits = 0;
  for (int64_t t = from; t < to; ++t) {
    const Moment& moment = moments[static_cast<size_t>(t - input.start_ns)];
    waits += std::any_of(moment.critical.begin(), moment.critical.end(), [&](size_t i) {
      const FunctionTraits& traits = input.functions[input.intervals[i].function];
      return traits.function_class >= FunctionClass::kPython && traits.wait == WaitKind::kPeer;
    });
  }
  return waits;
}

void NamePredecessor(const SweepInput& input, const std::vector<Moment>& moments, int64_t from,
                     int64_t to, CollectiveExposure* out) {
  std::map<uint32_t, int64_t> sums;
  for (int64_t t = from; t < to; ++t) {
    const Moment& moment = moments[static_cast<size_t>(t - input.start_ns)];
    for (size_t i : moment.critical)
      sums[input.intervals[i].function] += AddsTime(input, moment, i) ? 1 : 0;
  }
  for (const auto& [function, sum] : sums) {
    if (input.functions[function].wait == WaitKind::kPeer) continue;
    const bool better =
        sum > out->before_ns ||
        (sum == out->before_ns && input.functions[function].id < input.functions[out->before].id);
    if (better) std::tie(out->before, out->before_ns) = std::tuple(function, sum);
  }
}

void DescribeCollectives(const SweepInput& input, const std::vector<Moment>& moments,
                         ReferenceResult* result) {
  int64_t last_end = input.start_ns;
  for (size_t i = 0; i < input.intervals.size(); ++i) {
    const Interval& interval = input.intervals[i];
    if (input.functions[interval.function].function_class != FunctionClass::kCollective) continue;
    const int64_t begin = std::max(interval.start_ns, input.start_ns);
    const int64_t end = std::min(interval.end_ns, input.end_ns);
    if (!InWindow(input, interval)) continue;
    CollectiveExposure exposure{.ticket = interval.lane};
    for (const Moment& moment : moments)
      exposure.exposed_ns += std::count(moment.critical.begin(), moment.critical.end(), i);
    exposure.gap_ns = std::max<int64_t>(0, begin - last_end);
    NamePredecessor(input, moments, last_end, begin, &exposure);
    if (IsBeside(input, interval)) {
      exposure.exposed_ns = WaitsWithin(input, moments, begin, end);
      last_end = std::max(last_end, begin);
    } else {
      last_end = std::max(last_end, end);
    }
    result->collectives.push_back(exposure);
  }
}

}  // namespace

ReferenceResult SweepByMoments(const SweepInput& input) {
  ReferenceResult result;
  for (const Interval& interval : input.intervals) {
    const int64_t begin = std::max(interval.start_ns, input.start_ns);
    const int64_t end = std::min(interval.end_ns, input.end_ns);
    if (!InWindow(input, interval)) continue;
    ++result.count[interval.function];
    result.total_ns[interval.function] += end - begin;
  }
  std::vector<Moment> moments;
  for (int64_t t = input.start_ns; t < input.end_ns; ++t) {
    moments.push_back(At(input, t));
    for (size_t i : moments.back().critical)
      result.critical_ns[input.intervals[i].function] += AddsTime(input, moments.back(), i) ? 1 : 0;
  }
  for (const StepSpan& step : input.steps) {
    int64_t wait = 0;
    std::set<uint32_t> active;
    for (int64_t t = step.begin_ns; t < step.end_ns; ++t) {
      const Moment& moment = moments[static_cast<size_t>(t - input.start_ns)];
      wait += WaitsForPeers(input, moment) ? 1 : 0;
      for (size_t i : moment.critical) active.insert(input.intervals[i].function);
    }
    result.peer_wait_ns.push_back(wait);
    for (uint32_t function : active) ++result.active_steps[function];
  }
  DescribeCollectives(input, moments, &result);
  return result;
}

}  // namespace eroica
