#include "stream_ops/pattern/critical_path_sweep.h"

#include <algorithm>

#include "schemas/check.h"

namespace eroica {
namespace {

constexpr size_t kHostClasses = 2;

bool IsHost(FunctionClass function_class) {
  return function_class == FunctionClass::kPython || function_class == FunctionClass::kCpuOp;
}

// The part of an interval that lies in the window. Empty (begin > end) where none does; a moment in
// the window has begin == end.
TimeSpan Clip(const SweepInput& input, const Interval& interval) {
  const int64_t begin_ns = std::max(interval.start_ns, input.start_ns);
  if (begin_ns >= input.end_ns) return {1, 0};
  if (interval.end_ns <= input.start_ns && interval.start_ns < input.start_ns) return {1, 0};
  return {begin_ns, std::min(interval.end_ns, input.end_ns)};
}

// Where the clocks can count: of a longer window its first part.
SweepInput Bounded(SweepInput input) {
  input.start_ns = std::max<int64_t>(input.start_ns, 0);
  input.end_ns = std::clamp(input.end_ns, input.start_ns, input.start_ns + kLongestWindowNs);
  return input;
}

}  // namespace

void CriticalPathSweep::Run(const SweepInput& whole) {
  EROICA_CHECK(whole.lanes.size() <= kMostLanes);
  const SweepInput input = Bounded(whole);
  Reset(input);
  BuildClocks(input);
  Account(input);
  FlushStacks();
  gaps_.Finish(input.functions);
  activity_.Finish(input.functions.size());
  peer_wait_.Finish(input.steps, clocks_,
                    CriticalPathPriority(FunctionClass::kCollective, input.host_only), &steps_);
  ExposeAsynchronous();
}

void CriticalPathSweep::Reset(const SweepInput& input) {
  for (uint32_t function : functions_) {
    totals_[function] = {};
    histograms_.Forget(function);
  }
  functions_.clear();
  histograms_.Recycle();
  histograms_.Resize(input.functions.size());
  if (totals_.size() < input.functions.size()) totals_.resize(input.functions.size());
  if (stacks_.size() < kHostClasses * input.lanes.size())
    stacks_.resize(kHostClasses * input.lanes.size());
  clocks_.Clear();
  peer_wait_.Clear();
  asynchronous_.clear();
  gaps_.Start(input.start_ns);
  activity_.Start(input.steps);
  SetRules(input);
}

void CriticalPathSweep::SetRules(const SweepInput& input) {
  rules_.clear();
  for (const FunctionTraits& traits : input.functions) {
    rules_.push_back(
        {static_cast<int8_t>(CriticalPathPriority(traits.function_class, input.host_only)),
         traits.function_class, traits.wait == WaitKind::kPeer && IsHost(traits.function_class)});
  }
}

void CriticalPathSweep::BuildClocks(const SweepInput& input) {
  for (const Interval& interval : input.intervals) {
    const TimeSpan part = Clip(input, interval);
    const Rule rule = rules_[interval.function];
    if (part.begin_ns > part.end_ns || !Counts(input, rule, interval)) continue;
    if (rule.function_class == FunctionClass::kCollective) {
      if (IsAsynchronous(interval.lane)) {
        asynchronous_.push_back({part, gaps_.collectives().size()});
        gaps_.AddCollective(interval.lane, part.begin_ns, part.begin_ns);
        continue;
      }
      gaps_.AddCollective(interval.lane, part.begin_ns, part.end_ns);
    }
    if (part.begin_ns < part.end_ns) clocks_.Add(rule.priority, part.begin_ns, part.end_ns);
  }
  clocks_.Finish();
}

void CriticalPathSweep::Account(const SweepInput& input) {
  size_t next_collective = 0;
  for (const Interval& interval : input.intervals) {
    const TimeSpan part = Clip(input, interval);
    if (part.begin_ns > part.end_ns) continue;
    const uint32_t function = interval.function;
    FunctionTotals& totals = totals_[function];
    if (totals.count == 0) functions_.push_back(function);
    const int64_t duration_ns = part.end_ns - part.begin_ns;
    totals.Count(duration_ns);
    histograms_.Add(function, static_cast<uint64_t>(duration_ns));

    const Rule rule = rules_[function];
    if (!Counts(input, rule, interval)) continue;
    const bool collective = rule.function_class == FunctionClass::kCollective;
    if (collective && IsAsynchronous(interval.lane)) {
      ++next_collective;
      continue;
    }
    CriticalClock& clock = clocks_[rule.priority];
    const int64_t clock_at_begin = clock.Advance(part.begin_ns);
    const int64_t clock_at_end = clock.Ahead(part.end_ns);
    if (IsHost(rule.function_class)) {
      if (duration_ns == 0) continue;
      Stack& stack = stacks_[kHostClasses * interval.lane +
                             (rule.function_class == FunctionClass::kCpuOp ? 1 : 0)];
      StartHostFunction(stack,
                        {part.end_ns, clock_at_end, part.begin_ns, clock_at_begin, function});
      continue;
    }
    if (collective)
      gaps_.collectives()[next_collective++].exposed_ns = clock_at_end - clock_at_begin;
    const int64_t fresh_ns = std::max(part.begin_ns, totals.covered_until_ns);
    if (fresh_ns >= part.end_ns) continue;
    totals.covered_until_ns = part.end_ns;
    const int64_t clock_at_fresh =
        fresh_ns == part.begin_ns ? clock_at_begin : clock.Ahead(fresh_ns);
    AddLeaf(function, fresh_ns, part.end_ns, clock_at_end - clock_at_fresh);
  }
}

void CriticalPathSweep::StartHostFunction(Stack& stack, const Frame& frame) {
  const int64_t now_ns = frame.leaf_since_ns;
  while (!stack.empty() && stack.back().end_ns <= now_ns) {
    const Frame& ended = stack.back();
    AddLeaf(ended.function, ended.leaf_since_ns, ended.end_ns,
            ended.clock_at_end - ended.clock_at_leaf);
    stack.pop_back();
  }
  if (!stack.empty()) {
    const Frame& caller = stack.back();
    AddLeaf(caller.function, caller.leaf_since_ns, now_ns,
            frame.clock_at_leaf - caller.clock_at_leaf);
    while (!stack.empty() && stack.back().end_ns <= frame.end_ns)
      stack.pop_back();  // never the leaf again
    if (!stack.empty()) {
      stack.back().leaf_since_ns = frame.end_ns;
      stack.back().clock_at_leaf = frame.clock_at_end;
    }
  }
  stack.push_back(frame);
}

void CriticalPathSweep::FlushStacks() {
  for (Stack& stack : stacks_) {
    for (; !stack.empty(); stack.pop_back()) {
      const Frame& ended = stack.back();
      AddLeaf(ended.function, ended.leaf_since_ns, ended.end_ns,
              ended.clock_at_end - ended.clock_at_leaf);
    }
  }
}

void CriticalPathSweep::ExposeAsynchronous() {
  for (const Asynchronous& operation : asynchronous_)
    gaps_.collectives()[operation.collective].exposed_ns =
        peer_wait_.Within(operation.part.begin_ns, operation.part.end_ns);
}

void CriticalPathSweep::AddLeaf(uint32_t function, int64_t begin_ns, int64_t end_ns,
                                int64_t critical_ns) {
  if (critical_ns <= 0) return;
  FunctionTotals& totals = totals_[function];
  totals.critical_ns += critical_ns;
  const Rule rule = rules_[function];
  const CriticalClock& clock = clocks_[rule.priority];
  if (activity_.wanted()) activity_.Add(function, begin_ns, end_ns, clock, &totals.step_mark);
  if (rule.function_class == FunctionClass::kCollective) return;
  if (rule.waits_for_peers) {
    peer_wait_.Add(rule.priority, begin_ns, end_ns);
  } else if (gaps_.wanted()) {
    gaps_.Add(function, begin_ns, end_ns, critical_ns, clock);
  }
}

}  // namespace eroica
