// RankWindows: what happens to a batch when it arrives.
#include <algorithm>
#include <limits>
#include <span>

#include "schemas/codec.h"
#include "stream_ops/summarize/rank_windows.h"

namespace eroica {
namespace {

// Those that come with reports of progress speak of the standstill, and of no window.
std::span<const ConnectionSample> ConnectionsOfWindows(const EventBatch& batch) {
  return batch.progress.empty() ? std::span<const ConnectionSample>(batch.connections)
                                : std::span<const ConnectionSample>();
}

int64_t EarliestTime(const EventBatch& batch) {
  int64_t time_ns = kNeverReached;
  if (batch.intervals.size() > 0) time_ns = batch.intervals.start_ns.front();
  if (!batch.marks.empty()) time_ns = std::min(time_ns, batch.marks.front().time_ns);
  if (!batch.samples.empty()) time_ns = std::min(time_ns, batch.samples.front().time_ns);
  const std::span<const ConnectionSample> connections = ConnectionsOfWindows(batch);
  if (!connections.empty()) time_ns = std::min(time_ns, connections.front().time_ns);
  return time_ns;
}

// The last moment at which something starts; 0 for an empty batch.
int64_t LatestTime(const EventBatch& batch) {
  int64_t time_ns = 0;
  if (batch.intervals.size() > 0) time_ns = batch.intervals.start_ns.back();
  if (!batch.marks.empty()) time_ns = std::max(time_ns, batch.marks.back().time_ns);
  if (!batch.samples.empty()) time_ns = std::max(time_ns, batch.samples.back().time_ns);
  const std::span<const ConnectionSample> connections = ConnectionsOfWindows(batch);
  if (!connections.empty()) time_ns = std::max(time_ns, connections.back().time_ns);
  return time_ns;
}

// As the wire carries it (event_batch.h), whether it has been on the wire or not: a summary at the
// edge is that of the stage.
ResourceSample OnWire(ResourceSample sample) {
  constexpr float kSteps = 65535;
  const auto step = static_cast<int32_t>(
      static_cast<double>(std::clamp(sample.value, 0.0f, 1.0f) * kSteps) + 0.5);
  sample.value = static_cast<float>(step) / kSteps;
  return sample;
}

// A container may have the same host and process number each time that it is started.
bool IsSameProcess(const ProducerIdentity& a, const ProducerIdentity& b) {
  const bool same_start = a.started_ns == b.started_ns || a.started_ns == 0 || b.started_ns == 0;
  return a.pid == b.pid && same_start && (a.host == b.host || a.host.empty() || b.host.empty());
}

// Producers of a process know more or less of it.
void TakeIn(const ProducerIdentity& more, ProducerIdentity& known) {
  known.world_size = std::max(known.world_size, more.world_size);
  known.device = std::max(known.device, more.device);
  known.host_only = known.host_only && more.host_only;
  if (known.role.empty()) known.role = more.role;
  if (known.host.empty()) known.host = more.host;
  if (known.started_ns == 0) known.started_ns = more.started_ns;
}

// What the new process does not say is as it was. The kind of the rank's windows stays.
ProducerIdentity SuccessorOf(const ProducerIdentity& before, const ProducerIdentity& now) {
  ProducerIdentity identity = before;
  identity.pid = now.pid;
  identity.started_ns = now.started_ns;
  if (now.world_size > 1) identity.world_size = now.world_size;
  if (now.device >= 0) identity.device = now.device;
  if (!now.role.empty()) identity.role = now.role;
  if (!now.host.empty()) identity.host = now.host;
  return identity;
}

uint64_t ReportedLost(const EventBatch& batch) {
  uint64_t lost = 0;
  for (const LossEntry& loss : batch.losses)
    lost += std::min(loss.count, std::numeric_limits<uint64_t>::max() - lost);
  return lost;
}

}  // namespace

void RankWindows::Add(const EventBatch& batch, int64_t offset, const BatchNumbers& numbers,
                      const CommunicatorTable& communicators) {
  SummarizeProbe& probe = shared_->probe;
  ++probe.batches_received;
  probe.events_received += batch.intervals.size();
  if (!IsNew(batch, offset <= replayed_until_)) {
    ++probe.batches_duplicate;
    probe.events_duplicate += batch.intervals.size();
    return;
  }
  if (IsOfAnother(batch)) {
    probe.events_outside += batch.intervals.size();
    return;
  }
  Learn(batch);
  LearnCommunicators(batch, numbers, communicators);
  MapLanes(batch.lanes);
  if (progress_.finished) return CountLate(batch.intervals.size(), offset);

  EventChunk chunk = shared_->pool.Take();
  chunk.offset = offset;
  chunk.producer = KeyOf(batch.identity);
  chunk.sequence = batch.sequence;
  chunk.events = batch.intervals.size();
  chunk.lost = ReportedLost(batch);
  const int64_t latest_event_ns = LatestTime(batch);
  chunk.last_time_ns = batch.progress.empty()
                           ? latest_event_ns
                           : std::max(latest_event_ns, batch.progress.back().time_ns);
  chunk.settled = offset <= replayed_until_ && chunk.last_time_ns < progress_.closed_until_ns;
  // reports close no window
  progress_.max_event_ns = std::max(progress_.max_event_ns, latest_event_ns);
  AddIntervals(batch, numbers, &chunk);
  for (const ResourceSample& sample : batch.samples) {
    if (sample.time_ns >= progress_.closed_until_ns) chunk.samples.push_back(OnWire(sample));
  }
  AddConnections(batch, &chunk);
  for (const Mark& mark : batch.marks) {
    if (mark.time_ns < progress_.closed_until_ns) continue;
    if (IsStepMark(mark)) {
      StepsOf(batch).Add(mark, offset);
    } else {
      marks_.push_back(mark);
    }
  }
  AddReports(batch, numbers);
  shared_->pool.Hold(&chunk);
  chunks_.push_back(std::move(chunk));
}

// Steps show that a process trains: one that hangs where its job has been started again elsewhere
// makes none. What comes within the out-of-orderness bound may have been on its way.
bool RankWindows::IsOfAnother(const EventBatch& batch) {
  const auto process_of = [](const ProducerIdentity& identity) {
    return RankClaimant{identity.host, identity.pid};
  };
  const RankClaimant process = process_of(batch.identity);
  if (std::ranges::any_of(batch.marks, IsStepMark)) {
    const int64_t latest_ns = LatestTime(batch);
    const RankClaimant holder = process_of(progress_.identity);
    contest_.Accepts(process, latest_ns - shared_->options.out_of_orderness_ns, latest_ns, &holder);
    if (successor_ && contest_.IsRefused(process_of(successor_->identity))) DropSuccessor();
  }
  return contest_.IsRefused(process);
}

void RankWindows::DropSuccessor() {
  for (EventChunk& chunk : chunks_) {
    if (!IsOfProcess(chunk.producer, successor_->identity)) continue;
    shared_->probe.events_outside += chunk.intervals.size() - chunk.taken;
    for (; !chunk.drained(); ++chunk.taken) Discard(chunk.intervals[chunk.taken]);
    chunk.samples_taken = chunk.samples.size();
    chunk.connections_taken = chunk.connections.size();
  }
  successor_.reset();
}

StepTable& RankWindows::StepsOf(const EventBatch& batch) {
  const bool apart =
      successor_ && !successor_->continues && IsSameProcess(successor_->identity, batch.identity);
  return apart ? successor_->steps : steps_;
}

bool RankWindows::IsNew(const EventBatch& batch, bool replayed) {
  const ProducerKey key = KeyOf(batch.identity);
  SequenceRanges& seen = seen_[key];
  ProducerProgress& producer = progress_.producers[key];
  if (seen.Contains(batch.sequence)) return false;
  const bool settled = batch.sequence < producer.next_sequence;
  if (settled && !replayed && !producer.declared_lost.Contains(batch.sequence)) return false;
  seen.Add(batch.sequence);
  producer.declared_lost.Remove(batch.sequence);
  if (batch.final) producer.final_sequence = batch.sequence;
  return true;
}

void RankWindows::Learn(const EventBatch& batch) {
  ProducerIdentity& known = progress_.identity;
  if (known.job.value.empty()) {
    known = batch.identity;
    progress_.kind = known.window_steps > 0 ? WindowKind::kSteps : WindowKind::kTime;
  } else if (IsSameProcess(known, batch.identity)) {
    TakeIn(batch.identity, known);
    if (successor_ && std::ranges::any_of(batch.marks, IsStepMark))
      successor_->beside_ns = std::max(successor_->beside_ns, LatestTime(batch));
  } else if (successor_ && IsSameProcess(successor_->identity, batch.identity)) {
    TakeIn(batch.identity, successor_->identity);
    successor_->since_ns = std::min(successor_->since_ns, EarliestTime(batch));
  } else if (const int64_t since_ns = EarliestTime(batch);
             since_ns != kNeverReached && since_ns >= progress_.closed_until_ns) {
    if (successor_ && since_ns <= successor_->since_ns)
      return;  // one in between, of which nothing will be told
    successor_ = Successor{.identity = SuccessorOf(known, batch.identity), .since_ns = since_ns};
    progress_.finished = false;
  }
}

void RankWindows::LearnCommunicators(const EventBatch& batch, const BatchNumbers& numbers,
                                     const CommunicatorTable& communicators) {
  const RankId rank = batch.identity.rank;
  const int64_t since_ns = EarliestTime(batch);
  for (uint32_t number : numbers.communicators) {
    const CommId id = communicators[number].id;
    const auto entry = progress_.communicators.find(id);
    if (entry != progress_.communicators.end()) {
      entry->second = std::min(entry->second, since_ns);
    } else if (communicators.MayHoldMember(number, rank)) {
      if (progress_.communicators.size() < CodecLimits::kCommunicators) {
        progress_.communicators.emplace(id, since_ns);
      } else {
        ++shared_->probe.communicators_left_out;
      }
    }
  }
}

void RankWindows::MapLanes(const std::vector<Lane>& lanes) {
  lane_numbers_.clear();
  for (const Lane& lane : lanes) {
    auto known = std::find(lanes_.begin(), lanes_.end(), lane);
    if (known == lanes_.end() && lanes_.size() == kMostLanes)
      known = lanes_.begin();  // nothing that we know has so many
    if (known == lanes_.end()) {
      known = lanes_.insert(known, lane);
      lane_kinds_.push_back(lane.kind);
    }
    lane_numbers_.push_back(static_cast<uint32_t>(known - lanes_.begin()));
  }
}

void RankWindows::AddIntervals(const EventBatch& batch, const BatchNumbers& numbers,
                               EventChunk* chunk) {
  const IntervalColumns& rows = batch.intervals;
  const bool steps = !IsOfTime();
  const int64_t closed_until_ns = progress_.closed_until_ns;
  const int64_t longest_ns =
      steps ? kEndOfTimeNs : kMostWindowsSpanned * shared_->options.window_ns;
  auto collective = batch.collectives.begin();
  bool in_order = true;
  int64_t max_event_ns = progress_.max_event_ns;
  chunk->intervals.resize(rows.size());
  Interval* next = chunk->intervals.data();
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t end_ns = rows.start_ns[i] + rows.duration_ns[i];
    Interval interval{rows.start_ns[i], end_ns, numbers.functions[rows.function[i]],
                      lane_numbers_[rows.lane[i]]};
    max_event_ns = std::max(max_event_ns, end_ns);
    while (collective != batch.collectives.end() && collective->interval < i) ++collective;
    if (interval.start_ns < closed_until_ns) {
      if (steps || end_ns <= closed_until_ns) continue;
      interval.start_ns = closed_until_ns;
    }
    if (end_ns - interval.start_ns > longest_ns) {
      interval.start_ns = end_ns - longest_ns;
      in_order = false;
    }
    if (numbers.traits[interval.function].function_class == FunctionClass::kCollective) {
      const bool asynchronous = lane_kinds_[interval.lane] == LaneKind::kAsynchronous;
      interval.lane = kNoTicket;
      for (; collective != batch.collectives.end() && collective->interval == i; ++collective) {
        chunk->uncounted_ns = std::max(chunk->uncounted_ns, end_ns);
        interval.lane = collectives_.Add({*collective, interval.function,
                                          numbers.communicators[collective->communicator],
                                          rows.start_ns[i], end_ns, interval.lane, asynchronous});
      }
    }
    *next++ = interval;
  }
  progress_.max_event_ns = max_event_ns;
  chunk->intervals.resize(static_cast<size_t>(next - chunk->intervals.data()));
  if (!in_order) {
    std::stable_sort(chunk->intervals.begin(), chunk->intervals.end(),
                     [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  }
  if (!chunk->intervals.empty())
    chunk->last_time_ns = std::max(chunk->last_time_ns, chunk->intervals.back().start_ns);
  const size_t left_out = rows.size() - chunk->intervals.size();
  if (steps && progress_.last_index < 0) {  // from the windows of time before the first step
    shared_->probe.events_outside += left_out;
  } else {
    CountLate(left_out, chunk->offset);
  }
}

// Of a communicator that the rank is no member of nobody would look for them.
void RankWindows::AddConnections(const EventBatch& batch, EventChunk* chunk) const {
  for (const ConnectionSample& sample : ConnectionsOfWindows(batch)) {
    if (sample.time_ns < progress_.closed_until_ns) continue;
    const CommId named =
        sample.communicator > 0 ? batch.communicators[sample.communicator - 1].id : CommId{};
    chunk->connections.push_back(
        {.time_ns = sample.time_ns,
         .row = {.peer = sample.peer,
                 .resource = sample.resource,
                 .bytes = sample.bytes,
                 .busy_ns = sample.busy_ns,
                 .retransmits = sample.retransmits,
                 .channels = sample.channels,
                 .communicator = progress_.communicators.contains(named) ? named : CommId{}}});
  }
}

// Each report has the samples since the one before; the last one also what came behind it.
void RankWindows::AddReports(const EventBatch& batch, const BatchNumbers& numbers) {
  auto samples = batch.connections.begin();
  for (const ProgressReport& report : batch.progress) {
    ++shared_->probe.reports_received;
    max_report_ns_ = std::max(max_report_ns_, report.time_ns);
    const bool late = report.time_ns <= reported_ns_;
    const uint32_t function =
        report.function == kNoParent ? kNoParent : numbers.functions[report.function];
    const bool added =
        !late && reports_.try_emplace(report.time_ns, HeldReport{report, function, {}, {}}).second;
    if (!added) {
      ++shared_->probe.reports_left_out;
      continue;
    }
    HeldReport& held = reports_[report.time_ns];
    held.communicators.assign(numbers.communicators.begin(), numbers.communicators.end());
    const auto until = &report == &batch.progress.back()
                           ? batch.connections.end()
                           : std::upper_bound(samples, batch.connections.end(), report.time_ns,
                                              [](int64_t time_ns, const ConnectionSample& sample) {
                                                return time_ns < sample.time_ns;
                                              });
    held.connections.assign(samples, until);
    samples = until;
    for (ConnectionSample& sample : held.connections)
      sample.communicator = 0;  // a standing lists them in an order of its own
  }
}

void RankWindows::CountLate(uint64_t events, int64_t offset) {
  if (events == 0) return;
  if (offset <= replayed_until_) {
    shared_->probe.events_replayed += events;
    return;
  }
  shared_->probe.events_late += events;
  if (progress_.finished) return;
  if (late_ == 0) late_offset_ = offset;
  late_ += events;
}

}  // namespace eroica
