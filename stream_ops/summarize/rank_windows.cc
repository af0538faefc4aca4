#include "stream_ops/summarize/rank_windows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "schemas/codec.h"

namespace eroica {
namespace {

// Of the window behind this one; a step that no rank can be in where there is none.
int64_t FirstStepBehind(const StepWindows& windows, int64_t index) {
  return index < kEndOfTimeNs / windows.size ? windows.FirstStepOf(index + 1) : kEndOfTimeNs + 1;
}

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  return b > std::numeric_limits<uint64_t>::max() - a ? std::numeric_limits<uint64_t>::max()
                                                      : a + b;
}

uint64_t SaturatingMultiply(uint64_t a, uint64_t b) {
  return b != 0 && a > std::numeric_limits<uint64_t>::max() / b
             ? std::numeric_limits<uint64_t>::max()
             : a * b;
}

}  // namespace

RankWindows::RankWindows(RankProgress progress, Shared* shared)
    : progress_(std::move(progress)), shared_(shared), replayed_until_(progress_.closed_at_offset) {
  const ProducerIdentity& known = progress_.identity;
  if (!known.job.value.empty())
    contest_.Accepts({known.host, known.pid}, progress_.max_event_ns, progress_.max_event_ns);
}

bool RankWindows::TakeNext(Close close, int64_t offset, ClosedRankWindow* out) {
  out->intervals.clear();
  out->steps.clear();
  out->samples.clear();
  out->marks.clear();
  out->connections.clear();
  out->completeness = {};
  const bool taken = IsOfTime() ? TakeTimeWindow(close, out) : TakeStepWindow(close, offset, out);
  if (!taken) return false;
  progress_.closed_at_offset = offset;
  if (successor_ && !successor_->is_beside() && successor_->since_ns <= out->window.start_ns) {
    progress_.identity = std::move(successor_->identity);
    successor_.reset();
  }
  out->final = close == Close::kLast && !HasWindow();
  out->completeness.late = std::exchange(late_, 0);
  out->completeness.events = out->intervals.size();
  for (const StepSpan& step : out->steps) progress_.advance.EndStep(step);
  if (out->steps.size() > CodecLimits::kPatterns) {
    const uint64_t left_out = out->steps.size() - CodecLimits::kPatterns;
    shared_->probe.steps_left_out += left_out;
    out->completeness.lost = SaturatingAdd(out->completeness.lost, left_out);
    out->steps.resize(CodecLimits::kPatterns);
  }
  ++shared_->probe.windows_closed;
  return true;
}

bool RankWindows::TakeTimeWindow(Close close, ClosedRankWindow* out) {
  const int64_t size_ns = shared_->options.window_ns;
  const bool stepless = IsStepless();
  std::optional<int64_t> earliest = EarliestStart();
  // The window was closed before its end: steps may begin in what is left of it.
  if (stepless && earliest && progress_.closed_until_ns % size_ns != 0 &&
      *earliest / size_ns == progress_.closed_until_ns / size_ns) {
    DropRestOfWindow((*earliest / size_ns + 1) * size_ns);
    earliest = EarliestStart();
  }
  if (!earliest) return false;
  const int64_t index = *earliest / size_ns;
  const int64_t begin_ns = index * size_ns;
  const int64_t end_ns = begin_ns + size_ns;
  if (close == Close::kPassed && end_ns > watermark_ns()) return false;
  out->window = {.kind = WindowKind::kTime,
                 .index = index,
                 .start_ns = begin_ns,
                 .end_ns = std::min(end_ns, kEndOfTimeNs)};
  out->steps = steps_.Resolve(begin_ns, end_ns);
  std::erase_if(out->steps, [&](const StepSpan& step) { return step.end_ns > end_ns; });
  if (!out->steps.empty()) {
    out->window.first_step = out->steps.front().id;
    out->window.last_step = out->steps.back().id;
  }
  TakeIntervals(end_ns, out);
  TakeSamples(end_ns, out);
  TakeMarks(end_ns, out);
  TakeConnections(end_ns, out);
  Release(end_ns, &out->completeness);
  if (stepless) {
    CloseUntil(std::min(end_ns, progress_.max_event_ns + 1), progress_.last_index);
  } else {
    CloseUntil(end_ns, index);
  }
  return true;
}

void RankWindows::DropRestOfWindow(int64_t end_ns) {
  for (EventChunk& chunk : chunks_) {
    for (; !chunk.drained() && chunk.next_start_ns() < end_ns; ++chunk.taken) {
      Discard(chunk.intervals[chunk.taken]);
      CountLate(1, chunk.offset);
    }
  }
}

bool RankWindows::TakeStepWindow(Close close, int64_t offset, ClosedRankWindow* out) {
  DropCarried();
  for (;;) {
    const bool behind_predecessor = IsBehindPredecessor(close);
    if (behind_predecessor) ContinueSteps();
    const StepWindows windows = StepWindowsOf(progress_.identity);
    const auto first = steps_.FirstFrom(FirstStepBehind(windows, progress_.last_index));
    const bool next_run = behind_predecessor && !successor_->steps.empty();
    if (!first && next_run) {
      TakeOver();
      continue;
    }
    if (!first) {
      // While records come again after a restart the watermark is ahead of what has come again: the
      // steps may be in the next record.
      const bool replaying = close == Close::kPassed && offset <= replayed_until_;
      if (!replaying) DropOutsideSteps(close == Close::kPassed ? watermark_ns() : kNeverReached);
      return false;
    }
    const int64_t index = windows.IndexOf(first->id);
    if (close == Close::kPassed && !next_run) {
      const auto latest = steps_.LatestBegunBy(watermark_ns());
      if (!latest || windows.IndexOf(*latest) <= index) return false;
    }
    auto next = steps_.FirstFrom(FirstStepBehind(windows, index));
    if (!next && next_run) next = {.id = 0, .time_ns = successor_->since_ns};
    const int64_t until_ns = next ? next->time_ns : kNeverReached;
    std::vector<StepSpan> steps = steps_.Resolve(progress_.closed_until_ns, until_ns);
    // The last step may end with the telemetry, but only where that is whole: else it was cut, and
    // how long it took nobody knows.
    if (next_run || (!next && !AllBatchesSeen()))
      std::erase_if(steps, [](const StepSpan& step) { return step.end_ns == kEndOfTimeNs; });
    for (StepSpan& step : steps) {
      const int64_t last_ns =
          next ? next->time_ns : std::max(progress_.max_event_ns, step.begin_ns);
      if (step.end_ns == kEndOfTimeNs || step.end_ns > last_ns) step.end_ns = last_ns;
    }
    TakeIntervalsOfSteps(until_ns, index, steps, out);
    std::erase_if(steps, [&](const StepSpan& step) { return windows.IndexOf(step.id) != index; });
    if (!steps.empty()) {
      const int64_t begin_ns = steps.front().begin_ns;
      out->window = {.kind = WindowKind::kSteps,
                     .index = index,
                     .start_ns = begin_ns,
                     .end_ns = std::min(steps.back().end_ns, begin_ns + kLongestWindowNs),
                     .first_step = steps.front().id,
                     .last_step = steps.back().id};
      for (StepSpan& step : steps) step.end_ns = std::min(step.end_ns, out->window.end_ns);
      std::erase_if(steps, [](const StepSpan& step) { return step.begin_ns > step.end_ns; });
    }
    TakeSamples(until_ns, out);
    TakeMarks(until_ns, out);
    TakeConnections(until_ns, out);
    Release(until_ns, &out->completeness);
    CloseUntil(next ? until_ns : progress_.max_event_ns, index);
    out->steps = std::move(steps);
    if (!out->steps.empty()) return true;
  }
}

bool RankWindows::IsBehindPredecessor(Close close) const {
  return successor_ && (close != Close::kPassed ||
                        std::max(successor_->since_ns, successor_->beside_ns) <= watermark_ns());
}

// Whether the new process goes on with the steps of the one before is known when all of that one
// have come. Steps that a rank has had are not counted twice.
void RankWindows::ContinueSteps() {
  if (successor_->continues || successor_->steps.empty()) return;
  const int64_t last_step = std::max(progress_.advance.last_step, steps_.last_id());
  if (successor_->steps.first_id() <= last_step) return;
  steps_.Merge(std::exchange(successor_->steps, {}));
  successor_->continues = true;
}

void RankWindows::TakeOver() {
  progress_.identity = std::move(successor_->identity);
  progress_.last_index = -1;
  progress_.closed_until_ns = std::max(progress_.closed_until_ns, successor_->since_ns);
  progress_.advance = {};
  ++progress_.runs;
  steps_ = std::move(successor_->steps);
  successor_.reset();
  std::erase_if(progress_.producers, [this](const auto& producer) {
    return !IsOfProcess(producer.first, progress_.identity);
  });
}

void RankWindows::TakeIntervals(int64_t until_ns, ClosedRankWindow* out) {
  std::vector<Interval> carried;
  int64_t carried_offset = carried_.empty() ? kNeverReached : carried_offset_;
  const auto take = [&](const Interval& interval) {
    out->intervals.push_back(interval);
    if (interval.end_ns <= until_ns) return false;
    carried.push_back({until_ns, interval.end_ns, interval.function, interval.lane});
    return true;
  };
  for (const Interval& interval : carried_) take(interval);
  if (carried.empty()) carried_offset = kNeverReached;
  for (EventChunk& chunk : chunks_) {
    const size_t before = chunk.taken;
    for (; !chunk.drained() && chunk.next_start_ns() < until_ns; ++chunk.taken) {
      if (take(chunk.intervals[chunk.taken]))
        carried_offset = std::min(carried_offset, chunk.offset);
    }
    shared_->probe.events_used += chunk.taken - before;
  }
  carried_ = std::move(carried);
  carried_offset_ = carried_offset;
}

void RankWindows::TakeIntervalsOfSteps(int64_t until_ns, int64_t index,
                                       const std::vector<StepSpan>& steps, ClosedRankWindow* out) {
  SummarizeProbe& probe = shared_->probe;
  const StepWindows windows = StepWindowsOf(progress_.identity);
  for (EventChunk& chunk : chunks_) {
    const bool apart = IsApart(chunk);
    auto step = steps.begin();
    for (; !chunk.drained() && chunk.next_start_ns() < until_ns; ++chunk.taken) {
      const Interval& interval = chunk.intervals[chunk.taken];
      while (step != steps.end() && step->end_ns <= interval.start_ns) ++step;
      const bool inside = !apart && step != steps.end() && step->begin_ns <= interval.start_ns;
      const int64_t window = inside ? windows.IndexOf(step->id) : index + 1;
      if (window == index) {  // and with it all that starts until the step's end
        const auto first = chunk.intervals.begin() + static_cast<ptrdiff_t>(chunk.taken);
        const int64_t end_ns = std::min(step->end_ns, until_ns);
        const auto last = std::partition_point(
            first, chunk.intervals.end(),
            [end_ns](const Interval& later) { return later.start_ns < end_ns; });
        out->intervals.insert(out->intervals.end(), first, last);
        const auto count = static_cast<size_t>(last - first);
        probe.events_used += count;
        chunk.taken += count - 1;
        continue;
      }
      Discard(interval);
      if (window > index) {
        ++out->completeness.outside;
        ++probe.events_outside;
      } else if (chunk.offset <= replayed_until_) {
        ++probe.events_replayed;
      } else {
        CountLate(1, chunk.offset);
      }
    }
  }
}

void RankWindows::TakeSamples(int64_t until_ns, ClosedRankWindow* out) {
  for (EventChunk& chunk : chunks_) {
    for (; chunk.samples_taken < chunk.samples.size(); ++chunk.samples_taken) {
      const ResourceSample& sample = chunk.samples[chunk.samples_taken];
      if (sample.time_ns >= until_ns) break;
      if (IsApart(chunk)) continue;
      if (sample.time_ns >= out->window.start_ns && sample.time_ns < out->window.end_ns)
        out->samples.push_back(sample);
    }
  }
  const auto key = [](const ResourceSample& s) {
    return std::tuple(s.time_ns, s.resource, s.value);
  };
  std::sort(out->samples.begin(), out->samples.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

void RankWindows::TakeMarks(int64_t until_ns, ClosedRankWindow* out) {
  const auto open = std::partition(marks_.begin(), marks_.end(), [until_ns](const Mark& mark) {
    return mark.time_ns < until_ns;
  });
  const auto key = [](const Mark& mark) { return std::tuple(mark.time_ns, mark.kind, mark.id); };
  std::sort(marks_.begin(), open, [&](const Mark& a, const Mark& b) { return key(a) < key(b); });
  out->pause_before = progress_.advance.pause;
  for (auto mark = marks_.begin(); mark != open; ++mark) {
    progress_.advance.Pass(*mark);
    if (mark->time_ns < out->window.start_ns) out->pause_before = progress_.advance.pause;
    if (mark->time_ns >= out->window.start_ns && mark->time_ns < out->window.end_ns)
      out->marks.push_back(*mark);
  }
  marks_.erase(marks_.begin(), open);
}

// A sample counts in the window in which its stretch ends. It may have come behind the last step of
// the window, with the first word of its communicator: then the window does not name that one.
void RankWindows::TakeConnections(int64_t until_ns, ClosedRankWindow* out) {
  std::map<std::tuple<uint32_t, Resource, CommId>, ConnectionPattern> sums;
  for (EventChunk& chunk : chunks_) {
    for (; chunk.connections_taken < chunk.connections.size(); ++chunk.connections_taken) {
      const auto& [time_ns, sample] = chunk.connections[chunk.connections_taken];
      if (time_ns >= until_ns) break;
      if (IsApart(chunk)) continue;
      const auto known = progress_.communicators.find(sample.communicator);
      const bool named =
          known != progress_.communicators.end() && known->second < out->window.end_ns;
      const CommId communicator = named ? sample.communicator : CommId{};
      const ConnectionPattern empty{
          .peer = sample.peer, .resource = sample.resource, .communicator = communicator};
      ConnectionPattern& sum =
          sums.try_emplace({sample.peer, sample.resource, communicator}, empty).first->second;
      sum.channels = std::max(sum.channels, sample.channels);
      sum.bytes = SaturatingAdd(sum.bytes, sample.bytes);
      sum.busy_ns += std::min(sample.busy_ns, kEndOfTimeNs - sum.busy_ns);
      sum.retransmits = SaturatingAdd(sum.retransmits, sample.retransmits);
    }
  }
  for (const auto& [key, sum] : sums) {
    if (out->connections.size() < CodecLimits::kConnections) {
      out->connections.push_back(sum);
    } else {
      ++shared_->probe.connections_left_out;
    }
  }
}

// Without steps ahead nothing before the moment can belong to one any more.
void RankWindows::DropOutsideSteps(int64_t until_ns) {
  if (until_ns != kNeverReached && !steps_.empty()) return;
  for (EventChunk& chunk : chunks_) {
    if (chunk.last_time_ns >= until_ns) continue;
    shared_->probe.events_outside += chunk.intervals.size() - chunk.taken;
    for (; !chunk.drained(); ++chunk.taken) Discard(chunk.intervals[chunk.taken]);
  }
  Completeness unused;
  Release(until_ns, &unused);
}

// What spans from the last window of time into the first step.
void RankWindows::DropCarried() {
  for (const Interval& interval : carried_) Discard(interval);
  carried_.clear();
}

void RankWindows::Discard(const Interval& interval) {
  if (CollectiveRows::IsTicket(interval.lane)) collectives_.Free(interval.lane);
}

void RankWindows::Release(int64_t until_ns, Completeness* completeness) {
  struct Tally {
    uint64_t last_sequence = 0;
    uint64_t batches = 0;
    uint64_t events = 0;
  };
  std::map<ProducerKey, Tally> tallies;
  size_t open = 0;
  for (EventChunk& chunk : chunks_) {
    if (chunk.last_time_ns >= until_ns) {
      if (EventChunk& place = chunks_[open++]; &place != &chunk) place = std::move(chunk);
      continue;
    }
    if (!chunk.settled) {
      Tally& tally = tallies[chunk.producer];
      tally.last_sequence = std::max(tally.last_sequence, chunk.sequence);
      tally.events += chunk.events;
      ++tally.batches;
      completeness->lost = SaturatingAdd(completeness->lost, chunk.lost);
    }
    shared_->pool.Give(std::move(chunk));
  }
  chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(open), chunks_.end());
  for (const auto& [key, tally] : tallies) {
    ProducerProgress& producer = progress_.producers[key];
    if (tally.last_sequence < producer.next_sequence) continue;
    const SequenceRanges& seen = seen_[key];
    const uint64_t missing = seen.CountMissing(producer.next_sequence, tally.last_sequence);
    const uint64_t mean_events = std::max<uint64_t>(1, tally.events / tally.batches);
    completeness->lost =
        SaturatingAdd(completeness->lost, SaturatingMultiply(missing, mean_events));
    seen.VisitMissing(
        producer.next_sequence, tally.last_sequence,
        [&](uint64_t first, uint64_t last) { producer.declared_lost.AddRange(first, last); });
    producer.next_sequence = SaturatingAdd(tally.last_sequence, 1);
  }
  shared_->probe.events_lost = SaturatingAdd(shared_->probe.events_lost, completeness->lost);
}

void RankWindows::CloseUntil(int64_t time_ns, int64_t index) {
  progress_.closed_until_ns = std::max(progress_.closed_until_ns, time_ns);
  progress_.last_index = std::max(progress_.last_index, index);
  steps_.ForgetBefore(progress_.closed_until_ns);
}

std::optional<int64_t> RankWindows::EarliestStart() const {
  std::optional<int64_t> earliest;
  if (!carried_.empty()) earliest = carried_.front().start_ns;
  for (const EventChunk& chunk : chunks_) {
    if (!chunk.drained())
      earliest = std::min(earliest.value_or(chunk.next_start_ns()), chunk.next_start_ns());
  }
  return earliest;
}

bool RankWindows::HasWindow() const {
  if (IsOfTime()) return EarliestStart().has_value();
  const StepWindows windows = StepWindowsOf(progress_.identity);
  return steps_.HasStepFrom(FirstStepBehind(windows, progress_.last_index)) ||
         (successor_ && !successor_->steps.empty());
}

const ProducerIdentity& RankWindows::ProcessAt(int64_t time_ns) const {
  return successor_ && successor_->since_ns <= time_ns ? successor_->identity : progress_.identity;
}

bool RankWindows::AllBatchesSeen() const {
  const ProducerIdentity& newest = successor_ ? successor_->identity : progress_.identity;
  bool any = false;
  for (const auto& [key, producer] : progress_.producers) {
    if (!IsOfProcess(key, newest)) continue;
    any = true;
    if (!producer.final_sequence) return false;
    const auto seen = seen_.find(key);
    static const SequenceRanges kNone;
    const SequenceRanges& sequences = seen == seen_.end() ? kNone : seen->second;
    if (sequences.CountMissing(producer.next_sequence, *producer.final_sequence) > 0) return false;
  }
  return any;
}

void RankWindows::Finish(int64_t offset) {
  Completeness unused;
  Release(kNeverReached, &unused);
  progress_.closed_until_ns = std::max(progress_.closed_until_ns, progress_.max_event_ns + 1);
  progress_.closed_at_offset = offset;
  progress_.finished = true;
  late_ = 0;  // no window follows that could say so; the probe has
  steps_.ForgetBefore(kNeverReached);
}

void RankWindows::Skip(int64_t index) {
  progress_.last_index = std::max(progress_.last_index, index);
  if (progress_.kind == WindowKind::kTime)
    CloseUntil((index + 1) * shared_->options.window_ns, index);
}

std::optional<int64_t> RankWindows::first_offset() const {
  std::optional<int64_t> first = steps_.first_offset();
  const auto consider = [&](int64_t offset) { first = std::min(first.value_or(offset), offset); };
  if (successor_ && !successor_->steps.empty()) consider(*successor_->steps.first_offset());
  if (!chunks_.empty()) consider(chunks_.front().offset);
  if (!carried_.empty()) consider(carried_offset_);
  if (late_ > 0) consider(late_offset_);
  return first;
}

uint64_t RankWindows::events_held() const {
  uint64_t events = 0;
  for (const EventChunk& chunk : chunks_) events += chunk.intervals.size() - chunk.taken;
  return events;
}

}  // namespace eroica
