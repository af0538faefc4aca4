#include "stream_ops/summarize/window_emitter.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "schemas/time_unit.h"
#include "stream_ops/pattern/resource_levels.h"
#include "stream_ops/summarize/member_list.h"
#include "stream_ops/summarize/stage_split.h"
#include "stream_ops/summarize/step_pauses.h"
#include "stream_ops/summarize/suspended_captures.h"

namespace eroica {
namespace {

constexpr uint64_t kBytesBesidePayload = 512;  // key, headers and allocations, about

// Of the job before it was started anew with fewer ranks: what it left in a window, and its
// communicators.
void MakeRoomFor(uint32_t rank, uint32_t& world_size) {
  world_size = std::max(world_size, rank + 1);
}

// Beside those that the rank's own host has refused.
void AddRefused(uint32_t processes, const Window& window, std::vector<SuspendedCapture>* rows) {
  if (processes == 0 || window.end_ns <= window.start_ns) return;
  const auto known = std::ranges::find_if(*rows, [](const SuspendedCapture& row) {
    return row.gap.capture == CaptureKind::kProcesses;
  });
  if (known != rows->end()) {
    known->gap.detail += processes;
    return;
  }
  static_assert(static_cast<int>(CaptureKind::kProcesses) == kCaptureKindCount - 1);
  rows->push_back({.gap = {CaptureKind::kProcesses, processes},
                   .suspended_ns = window.end_ns - window.start_ns});
}

// The step in which the moment lies, -1 where there is none.
int64_t StepAt(const std::vector<StepSpan>& steps, int64_t time_ns) {
  const auto step = std::upper_bound(steps.begin(), steps.end(), time_ns,
                                     [](int64_t t, const StepSpan& s) { return t < s.end_ns; });
  return step != steps.end() && step->begin_ns <= time_ns ? step->id : -1;
}

}  // namespace

void WindowEmitter::Emit(const FunctionTable& functions, const CommunicatorTable& communicators,
                         uint32_t world_size, ClosedRankWindow& closed, RankWindows& rank,
                         ProcessorContext& context) {
  const Sink sink{functions, communicators, context};
  sorter_.Sort(functions.traits(), closed.intervals);
  const SweepInput input{.intervals = closed.intervals,
                         .functions = functions.traits(),
                         .lanes = rank.lane_kinds(),
                         .steps = closed.steps,
                         .start_ns = closed.window.start_ns,
                         .end_ns = closed.window.end_ns,
                         .host_only = rank.progress().identity.host_only};
  sweep_.Run(input);
  resources_.Run(input, closed.samples);

  StartPatterns(rank.progress(), world_size, closed.window);
  patterns_.final = closed.final;
  patterns_.completeness = closed.completeness;
  patterns_.steps = sweep_.steps();
  SplitIntoStages(closed.marks, closed.steps, &patterns_.steps);
  NotePauses(closed.pause_before, closed.marks, closed.steps, &patterns_.steps);
  patterns_.connections = closed.connections;
  patterns_.levels = LevelsOf(closed.samples);
  patterns_.suspended = SuspendedCapturesOf(closed.marks, closed.window);
  AddRefused(rank.refused_processes(), closed.window, &patterns_.suspended);
  for (const ConnectionPattern& connection : patterns_.connections)
    MakeRoomFor(connection.peer, patterns_.world_size);
  for (const auto& [communicator, since_ns] : rank.progress().communicators) {
    if (since_ns < closed.window.end_ns) patterns_.communicators.push_back(communicator);
  }
  CollectRecords(sink, closed, rank);
  BuildPatternRows(sweep_, functions, resources_, bytes_,
                   {.fold_below = shared_->options.fold_below}, &patterns_);
  SendPatterns(context);
  SendCollectives(sink, closed, world_size, rank.progress());
}

void WindowEmitter::EmitSilent(const RankProgress& progress, uint32_t world_size, int64_t index,
                               ProcessorContext& context) {
  const int64_t now_ns = std::min(progress.closed_until_ns, kEndOfTimeNs);
  StartPatterns(progress, world_size,
                {.kind = progress.kind, .index = index, .start_ns = now_ns, .end_ns = now_ns});
  patterns_.silent = true;
  for (const auto& [communicator, since_ns] : progress.communicators)
    patterns_.communicators.push_back(communicator);
  SendPatterns(context);
  ++shared_->probe.windows_silent;
}

void WindowEmitter::StartPatterns(const RankProgress& progress, uint32_t world_size,
                                  const Window& window) {
  const ProducerIdentity& identity = progress.identity;
  patterns_ = {};
  patterns_.job = identity.job;
  patterns_.rank = identity.rank;
  patterns_.world_size = WorldSizeOf(identity, world_size);
  patterns_.role = identity.role;
  patterns_.host = identity.host;
  patterns_.device = identity.device;
  patterns_.pid = identity.pid;
  patterns_.host_only = identity.host_only;
  patterns_.window = window;
  // the rank's may be later, by how much depends on when what arrived
  patterns_.watermark_ns = window.end_ns;
}

template <typename T>
std::optional<Bytes> WindowEmitter::Encode(const T& output, ProcessorContext& context) {
  const std::optional<Bytes> payload = EncodeOutput(output, encoder_, context);
  if (payload) {
    shared_->sent_bytes += kBytesBesidePayload + payload->size();
  } else {
    ++shared_->probe.outputs_dropped;
  }
  return payload;
}

void WindowEmitter::SendPatterns(ProcessorContext& context) {
  if (const auto payload = Encode(patterns_, context))
    context.Forward(Topic::kPatterns, JobKey(patterns_.job), PayloadType::kPatternBatch, *payload,
                    patterns_.window.end_ns / kNsPerMs, patterns_.job);
}

void WindowEmitter::CollectRecords(const Sink& sink, const ClosedRankWindow& closed,
                                   RankWindows& rank) {
  size_t members = 0;  // what is kept of those of the window before is their memory
  bytes_.clear();
  for (const auto& [communicator, since_ns] : rank.progress().communicators) {
    const std::optional<uint32_t> number = sink.communicators.Find(communicator);
    if (!number || since_ns >= closed.window.end_ns) continue;
    if (members == members_.size()) members_.emplace_back();
    Member& member = members_[members++];
    member.communicator = *number;
    member.batch.records.clear();
    member.batch.predecessors.clear();
    member.predecessors.clear();
    member.predecessor_bytes = 0;
  }
  members_.resize(members);
  for (const CollectiveExposure& exposure : sweep_.collectives()) {
    if (!CollectiveRows::IsTicket(exposure.ticket)) continue;
    // An operation that spans windows of time counts in the one in which it ends: there its members
    // leave it together.
    const int64_t end_ns = rank.collectives()[exposure.ticket].end_ns;
    if (closed.window.kind == WindowKind::kTime && end_ns > closed.window.end_ns) continue;
    rank.collectives().Visit(exposure.ticket, [&](const CollectiveRow& row) {
      AddOperation(sink, closed, exposure, row, rank);
    });
    rank.collectives().Free(exposure.ticket);
  }
}

void WindowEmitter::AddOperation(const Sink& sink, const ClosedRankWindow& closed,
                                 const CollectiveExposure& exposure, const CollectiveRow& row,
                                 RankWindows& rank) {
  const CommId communicator = sink.communicators[row.communicator].id;
  rank.advance().Complete({communicator, row.collective.operation, row.collective.peer},
                          row.collective.sequence, row.end_ns);
  AddBytes(row.function, row.collective.bytes);
  const auto member = std::ranges::find(members_, row.communicator, &Member::communicator);
  if (member == members_.end()) {
    // The operation of a communicator that the rank is no member of is nobody's loss.
    const bool has_all = rank.progress().communicators.size() < CodecLimits::kCommunicators;
    LeaveOut(has_all ? 0 : 1);
  } else if (!AddRecord(sink, closed, exposure, row, &*member)) {
    LeaveOut(1);
  }
}

// lost: of it, what align would have looked at.
void WindowEmitter::LeaveOut(uint64_t lost) {
  ++shared_->probe.collectives_left_out;
  uint64_t& all = patterns_.completeness.lost;
  all += std::min(lost, std::numeric_limits<uint64_t>::max() - all);
}

void WindowEmitter::AddBytes(uint32_t function, uint64_t bytes) {
  const auto known =
      std::find_if(bytes_.begin(), bytes_.end(),
                   [function](const FunctionBytes& entry) { return entry.function == function; });
  if (known != bytes_.end()) {
    known->bytes += bytes;
  } else {
    bytes_.push_back({function, bytes});
  }
}

// False where the batch is full.
bool WindowEmitter::AddRecord(const Sink& sink, const ClosedRankWindow& closed,
                              const CollectiveExposure& exposure, const CollectiveRow& row,
                              Member* member) {
  CollectiveBatch& batch = member->batch;
  if (batch.records.size() == kMostRecords) return false;
  uint32_t before = 0;
  if (exposure.before != kNoFunction) {
    before = PlaceOf(sink, exposure.before, member);
    if (before == 0) ++shared_->probe.predecessors_left_out;
  }
  batch.records.push_back({.operation = row.collective.operation,
                           .sequence = row.collective.sequence,
                           .peer = row.collective.peer,
                           .step = StepAt(closed.steps, row.start_ns),
                           .duration_ns = row.end_ns - row.start_ns,
                           .exposed_ns = exposure.exposed_ns,
                           .gap_ns = exposure.gap_ns,
                           .bytes = row.collective.bytes,
                           .before = before,
                           .before_ns = before > 0 ? exposure.before_ns : 0});
  return true;
}

// 1 + the function's place among the predecessors; 0 where it has no room there.
uint32_t WindowEmitter::PlaceOf(const Sink& sink, uint32_t function, Member* member) {
  const auto [entry, is_new] = member->predecessors.try_emplace(function, 0);
  std::vector<Predecessor>& predecessors = member->batch.predecessors;
  if (!is_new || predecessors.size() == CodecLimits::kPatterns) return entry->second;
  Predecessor row{sink.functions.traits()[function].id, sink.functions.name(function),
                  sink.functions.Stack(function)};
  const size_t bytes = row.name.size() + row.stack.size();
  if (bytes > kMostPredecessorBytes - member->predecessor_bytes) return 0;
  member->predecessor_bytes += bytes;
  predecessors.push_back(std::move(row));
  entry->second = static_cast<uint32_t>(predecessors.size());
  return entry->second;
}

void WindowEmitter::SendCollectives(const Sink& sink, const ClosedRankWindow& closed,
                                    uint32_t world_size, const RankProgress& progress) {
  for (Member& member : members_) {
    CollectiveBatch& batch = member.batch;
    batch.job = progress.identity.job;
    batch.rank = progress.identity.rank;
    batch.world_size = WorldSizeOf(progress.identity, world_size);
    batch.communicator =
        AsSaidBy(sink.communicators[member.communicator], batch.rank, closed.window.index);
    for (const uint32_t rank : batch.communicator.ranks) MakeRoomFor(rank, batch.world_size);
    for (const CollectiveRecord& record : batch.records) {
      if (record.peer >= 0) MakeRoomFor(static_cast<uint32_t>(record.peer), batch.world_size);
    }
    batch.window = closed.window;
    batch.final = closed.final;
    if (const auto payload = Encode(batch, sink.context))
      sink.context.Forward(Topic::kCollectives, CollectivesKey(batch.job, batch.communicator.id),
                           PayloadType::kCollectiveBatch, *payload, closed.window.end_ns / kNsPerMs,
                           batch.job);
  }
}

}  // namespace eroica
