#include "producers/import/rank_trace_writer.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <tuple>
#include <utility>

#include "producers/import/batch_builder.h"
#include "producers/import/call_stack_builder.h"
#include "producers/import/standing_end.h"

namespace eroica {
namespace {

constexpr uint32_t kMicrosecondNs = 1'000;

// Reasons that mean a loss to diagnosis; the others leave out what it has no use for.
constexpr DropReason kLosses[] = {DropReason::kNegativeDuration, DropReason::kTimeOutOfRange,
                                  DropReason::kMalformedEvent, DropReason::kTruncatedInput,
                                  DropReason::kUnpairedDuration};

std::vector<LossEntry> LossesOf(const ImportCounts& counts) {
  std::vector<LossEntry> losses;
  for (const DropReason reason : kLosses) {
    if (counts.skipped.of(reason) > 0)
      losses.push_back({EventKind::kInterval, reason, counts.skipped.of(reason)});
  }
  return losses;
}

class Writer {
 public:
  Writer(TraceFunctions& functions, RankTrace& trace, ProducerIdentity identity,
         ImportCounts& counts, ImportReport& report, BatchSink& sink)
      : trace_(trace),
        stacks_(functions),
        builder_(functions, Completed(trace, std::move(identity)),
                 trace.whole_microseconds ? kMicrosecondNs : 1, trace.lanes, trace.communicators,
                 sink),
        counts_(counts),
        report_(report) {}

  absl::Status Run() {
    PrepareMarks();
    if (absl::Status status = trace_.intervals.Rewind(); !status.ok()) return status;
    IntervalRecord record;
    while (trace_.intervals.Next(&record)) {
      if (record.kind == IntervalKind::kAnnotation && trace_.has_python_frames) continue;
      if (absl::Status status = Write(record); !status.ok()) return status;
    }
    if (!trace_.intervals.status().ok()) return trace_.intervals.status();
    if (!has_steps_ && last_end_ns_ >= 0)
      InsertMark({last_end_ns_ - trace_.base_time_ns, MarkKind::kStepEnd, 0});
    if (absl::Status status = WriteMarks(std::numeric_limits<int64_t>::max()); !status.ok())
      return status;
    if (trace_.ends_standing) builder_.Report(StandingReport(trace_), at_end_);
    absl::Status status = builder_.Finish(LossesOf(counts_));
    report_.batches += builder_.batches();
    return status;
  }

 private:
  static ProducerIdentity Completed(const RankTrace& trace, ProducerIdentity identity) {
    identity.role = trace.role;
    identity.host = trace.host;
    identity.pid = trace.pid;
    identity.device = trace.device;
    identity.host_only = !trace.has_device_events;
    return identity;
  }

  // A step ends before the next one begins, also where both bear the same time.
  void PrepareMarks() {
    const auto order = [](const Mark& mark) {
      return std::tuple(mark.time_ns, mark.kind != MarkKind::kStepEnd, mark.kind, mark.id);
    };
    std::sort(trace_.marks.begin(), trace_.marks.end(),
              [&](const Mark& x, const Mark& y) { return order(x) < order(y); });
    std::erase_if(trace_.marks, [this](const Mark& mark) {
      return mark.time_ns > kTraceTimeMaxNs - trace_.base_time_ns;
    });
    steps_ = std::count_if(trace_.marks.begin(), trace_.marks.end(),
                           [](const Mark& mark) { return mark.kind == MarkKind::kStepEnd; });
    has_steps_ = std::any_of(trace_.marks.begin(), trace_.marks.end(),
                             [](const Mark& mark) { return mark.kind == MarkKind::kStepBegin; });
  }

  // Marks of events that are no intervals may lie before the first one, and behind the last.
  void InsertMark(const Mark& mark) {
    const auto unwritten = std::ranges::subrange(
        trace_.marks.begin() + static_cast<std::ptrdiff_t>(next_mark_), trace_.marks.end());
    trace_.marks.insert(mark.kind == MarkKind::kStepBegin
                            ? std::ranges::lower_bound(unwritten, mark.time_ns, {}, &Mark::time_ns)
                            : std::ranges::upper_bound(unwritten, mark.time_ns, {}, &Mark::time_ns),
                        mark);
  }

  absl::Status Write(const IntervalRecord& record) {
    if (record.start_ns + record.duration_ns > kTraceTimeMaxNs - trace_.base_time_ns) {
      --counts_.imported;
      counts_.skipped.Add(DropReason::kTimeOutOfRange);
      return absl::OkStatus();
    }
    const bool frame =
        record.kind == IntervalKind::kPython || record.kind == IntervalKind::kAnnotation;
    const uint32_t function = frame ? stacks_.Resolve(record) : record.function;
    const int64_t start_ns = trace_.base_time_ns + record.start_ns;
    // A trace without steps is one step: it begins with its first interval and ends with its last.
    if (!has_steps_ && last_end_ns_ < 0) InsertMark({record.start_ns, MarkKind::kStepBegin, 0});
    last_end_ns_ = std::max(last_end_ns_, start_ns + record.duration_ns);
    if (absl::Status status = WriteMarks(record.start_ns); !status.ok()) return status;
    ++report_.intervals;
    NoteEnd(record, function);
    operations_.clear();
    if (record.kind == IntervalKind::kCollective) CollectOperations(record.a);
    return builder_.AddInterval(start_ns, record.duration_ns, function, record.lane, operations_);
  }

  // Keeps the innermost function that the training thread is in at the trace's end.
  void NoteEnd(const IntervalRecord& record, uint32_t function) {
    if (!trace_.ends_standing || trace_.lanes[record.lane].kind != LaneKind::kTrainingThread)
      return;
    if (IsAtEnd(trace_, last_progress_ns_, record.start_ns, record.duration_ns)) at_end_ = function;
  }

  // Those of the kernel that are matched.
  void CollectOperations(uint32_t first) {
    for (auto index = static_cast<int32_t>(first); index >= 0;) {
      const CollectiveCall& call = trace_.collectives[static_cast<size_t>(index)];
      Collective collective;
      if (Describe(call, &collective)) operations_.push_back(collective);
      index = call.next;
    }
  }

  // Marks up to and at `until_ns`, relative to the base time.
  absl::Status WriteMarks(int64_t until_ns) {
    while (next_mark_ < trace_.marks.size() && trace_.marks[next_mark_].time_ns <= until_ns) {
      Mark mark = trace_.marks[next_mark_++];
      mark.time_ns += trace_.base_time_ns;
      ++report_.marks;
      if (mark.kind == MarkKind::kStepEnd) {
        if (absl::Status status = WriteConnections(mark.time_ns); !status.ok()) return status;
      }
      if (absl::Status status = builder_.AddMark(mark); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // What the connections carried in all is spread over the steps evenly: when they carried it is
  // not known.
  absl::Status WriteConnections(int64_t step_end_ns) {
    const auto steps = static_cast<uint64_t>(std::max<int64_t>(steps_, 1));
    const uint64_t step = steps_ended_++;
    const auto part = [&](uint64_t all) { return all / steps + (step < all % steps ? 1 : 0); };
    for (const ConnectionSample& whole : trace_.connections) {
      ConnectionSample sample = whole;
      sample.time_ns = std::max<int64_t>(step_end_ns - 1, 0);
      sample.bytes = part(whole.bytes);
      sample.busy_ns = static_cast<int64_t>(part(static_cast<uint64_t>(whole.busy_ns)));
      sample.retransmits = part(whole.retransmits);
      ++report_.connections;
      if (absl::Status status = builder_.AddConnection(sample); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  static bool Describe(const CollectiveCall& call, Collective* collective) {
    if (call.communicator == CollectiveCall::kUnmatched) return false;
    collective->communicator = static_cast<uint16_t>(call.communicator);
    collective->operation = call.operation;
    collective->sequence = call.sequence;
    collective->bytes = call.bytes;
    collective->peer = IsPointToPoint(call.operation) ? call.peer : -1;
    return true;
  }

  RankTrace& trace_;
  CallStackBuilder stacks_;
  BatchBuilder builder_;
  ImportCounts& counts_;
  ImportReport& report_;
  std::vector<Collective> operations_;  // of the interval at hand
  bool has_steps_ = false;
  const int64_t last_progress_ns_ = LastProgress(trace_);
  uint32_t at_end_ = TraceFunctions::kNone;
  int64_t steps_ = 0;  // that end
  uint64_t steps_ended_ = 0;
  size_t next_mark_ = 0;
  int64_t last_end_ns_ = -1;  // absolute
};

}  // namespace

absl::Status WriteRankTrace(TraceFunctions& functions, RankTrace& trace, ProducerIdentity identity,
                            ImportCounts& counts, ImportReport& report, BatchSink& sink) {
  return Writer(functions, trace, std::move(identity), counts, report, sink).Run();
}

}  // namespace eroica
