// The open windows of one rank: holds what its producers sent until the rank's watermark, its last
// batch or the end of the input closes a window.
//
// Time is the rank's own clock. The watermark is its latest event less the out-of-orderness bound.
// Windows close in order and never open again: what comes for a closed window is late, counted and
// dropped. Nothing is assigned to a window before it closes, so the order in which batches arrive
// (within the bound) cannot show in the result.
//   kTime:  a window holds the parts of the intervals that lie in it; one that spans a boundary is
//   cut there and counted on both sides. kSteps: an interval belongs to the step in which it
//   starts, whole until the window's end; what starts between steps is outside of all windows.
//   Before the first step that is ever seen of the rank, its windows are of time.
// A rank may be started anew, on another host, in a job of another size: windows from the new
// process's first event on are of that one. Where it counts its steps anew as well, the windows of
// the process before close first, and the indices of windows begin again (RankProgress::runs).
// Where that one goes on making steps beside it (rank_contest.h), what the later ones sent is left
// out.
// Owner: the task's thread.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "schemas/event_batch.h"
#include "schemas/pattern_batch.h"
#include "stream_ops/rank_contest.h"
#include "stream_ops/summarize/collective_rows.h"
#include "stream_ops/summarize/communicator_table.h"
#include "stream_ops/summarize/event_chunk.h"
#include "stream_ops/summarize/rank_progress.h"
#include "stream_ops/summarize/step_table.h"
#include "stream_ops/summarize/summarize_options.h"
#include "stream_ops/summarize/summarize_probe.h"

namespace eroica {

// A time or an offset that nothing reaches.
inline constexpr int64_t kNeverReached = std::numeric_limits<int64_t>::max();

// What a window held when it closed.
struct ClosedRankWindow {
  Window window;
  bool final = false;  // no further window of the rank follows
  Completeness completeness;
  std::vector<Interval> intervals;             // in no order
  std::vector<StepSpan> steps;                 // whole ones, ascending
  std::vector<ResourceSample> samples;         // by time
  std::vector<Mark> marks;                     // by time, all but the begins and ends of steps
  Pause pause_before = Pause::kNone;           // that the rank was in when the window began
  std::vector<ConnectionPattern> connections;  // by peer, resource and communicator
};

// A report of progress as it waits for the watermark to pass it, so that all that ended before it
// is known.
struct HeldReport {
  ProgressReport report;
  uint32_t function = kNoParent;        // that the training thread is in, under the job's number
  std::vector<uint32_t> communicators;  // under the job's numbers
  std::vector<ConnectionSample> connections;  // of its batch, since the report before
};

// The batch's rows in the tables of its job.
struct BatchNumbers {
  std::span<const uint32_t> functions;
  std::span<const FunctionTraits> traits;  // of all functions of the job
  std::span<const uint32_t> communicators;
};

class RankWindows {
 public:
  // An interval is cut into this many windows at most: its newest. (At 10 s: almost three hours.)
  static constexpr int64_t kMostWindowsSpanned = 1024;

  // What everything of a task shares; must outlive the rank.
  struct Shared {
    SummarizeOptions options;
    SummarizeProbe probe;
    EventChunkPool pool;
    uint64_t sent_bytes = 0;  // of outputs, with what each takes beside its payload
  };
  RankWindows(RankProgress progress, Shared* shared);

  void Add(const EventBatch& batch, int64_t offset, const BatchNumbers& numbers,
           const CommunicatorTable& communicators);

  enum class Close {
    kPassed,  // windows that the watermark has passed
    kAll,     // everything that is there; more may follow
    kLast,    // everything that is there; the last of them is final
  };
  // Takes the next window that closes, oldest first; false where there is none. offset: of the
  // record that is being processed, or the last one.
  bool TakeNext(Close close, int64_t offset, ClosedRankWindow* out);
  // Takes the next report that is due, oldest first, and moves progress().advance on to it; false
  // where there is none. Reports close no window. Those that come too late, or within a second of
  // the one before, are left out. Call it before TakeNext: windows that close move the advance on
  // as well.
  bool TakeReport(Close close, const CommunicatorTable& communicators, HeldReport* out);
  // Those up to here were taken before a restart.
  void RestoreReported(int64_t time_ns) { reported_ns_ = time_ns; }
  // How far the rank has come at the moment of the report that was just taken: what is counted, and
  // what its open windows say.
  RankAdvance AdvanceOfOpenWindows(int64_t time_ns) const;
  // Every producer of the newest process has sent its last batch, and every batch before it is
  // here. Of a process before, which may have been killed, nothing is waited for.
  bool AllBatchesSeen() const;
  // After the last window of a rank that sends no more: whatever still comes is late.
  void Finish(int64_t offset);
  // Moves on without a window: the rank said nothing for those up to index.
  void Skip(int64_t index);

  // Its process is that of the newest closed window.
  const RankProgress& progress() const { return progress_; }
  // The process that the rank was at the moment.
  const ProducerIdentity& ProcessAt(int64_t time_ns) const;
  RankAdvance& advance() { return progress_.advance; }
  // Processes that said that they are the rank, too, and were left out.
  uint32_t refused_processes() const {
    return contest_.contestants().empty()
               ? 0
               : static_cast<uint32_t>(contest_.contestants().size() - 1);
  }
  const std::vector<LaneKind>& lane_kinds() const { return lane_kinds_; }
  CollectiveRows& collectives() { return collectives_; }
  // The smallest offset that must be read again to rebuild what is open.
  std::optional<int64_t> first_offset() const;
  uint64_t events_held() const;

 private:
  bool IsNew(const EventBatch& batch, bool replayed);
  // Whether the batch is of a process that is not the rank.
  bool IsOfAnother(const EventBatch& batch);
  void DropSuccessor();
  // Of the process that has not taken over yet, and whose steps are not those of the one before.
  bool IsApart(const EventChunk& chunk) const {
    return successor_ && !successor_->continues &&
           IsOfProcess(chunk.producer, successor_->identity);
  }
  void Learn(const EventBatch& batch);
  void LearnCommunicators(const EventBatch& batch, const BatchNumbers& numbers,
                          const CommunicatorTable& communicators);
  void AddConnections(const EventBatch& batch, EventChunk* chunk) const;
  void MapLanes(const std::vector<Lane>& lanes);
  void AddIntervals(const EventBatch& batch, const BatchNumbers& numbers, EventChunk* chunk);
  void AddReports(const EventBatch& batch, const BatchNumbers& numbers);
  void CountLate(uint64_t events, int64_t offset);

  StepTable& StepsOf(const EventBatch& batch);
  // Nothing of the process before can come any more: the watermark has passed it, or all closes.
  bool IsBehindPredecessor(Close close) const;
  void ContinueSteps();
  void TakeOver();

  // Windows of steps, and none was ever seen: what the rank does is cut by time until one is.
  bool IsStepless() const {
    return progress_.kind == WindowKind::kSteps && progress_.last_index < 0 &&
           progress_.runs == 0 && !steps_.HasStepFrom(0) && !successor_;
  }
  bool IsOfTime() const { return progress_.kind == WindowKind::kTime || IsStepless(); }
  bool TakeTimeWindow(Close close, ClosedRankWindow* out);
  void DropRestOfWindow(int64_t end_ns);
  bool TakeStepWindow(Close close, int64_t offset, ClosedRankWindow* out);
  void TakeIntervals(int64_t until_ns, ClosedRankWindow* out);
  void TakeIntervalsOfSteps(int64_t until_ns, int64_t index, const std::vector<StepSpan>& steps,
                            ClosedRankWindow* out);
  void TakeSamples(int64_t until_ns, ClosedRankWindow* out);
  void TakeMarks(int64_t until_ns, ClosedRankWindow* out);
  void AdvanceTo(int64_t time_ns, const CommunicatorTable& communicators);
  bool LiesInOneWindow(const StepSpan& step) const;
  void TakeConnections(int64_t until_ns, ClosedRankWindow* out);
  void DropOutsideSteps(int64_t until_ns);
  void DropCarried();
  // Settles and gives back the chunks that lie before the moment.
  void Release(int64_t until_ns, Completeness* completeness);
  void CloseUntil(int64_t time_ns, int64_t index);
  std::optional<int64_t> EarliestStart() const;
  bool HasWindow() const;
  void Discard(const Interval& interval);
  int64_t watermark_ns() const {
    const SummarizeOptions& options = shared_->options;
    const int64_t of_device_ns = progress_.identity.host_only ? 0 : options.device_lateness_ns;
    return progress_.max_event_ns - options.out_of_orderness_ns - of_device_ns;
  }

  // The process that has taken the rank over, while windows of the one before are open.
  struct Successor {
    ProducerIdentity identity;
    int64_t since_ns = 0;
    bool continues = false;  // the steps of the one before; they are in its table
    StepTable steps;         // until that is known, or else until it takes over
    int64_t beside_ns = 0;   // until when the one before has made steps since this one is known
    // The one before had not ended when this one began: it is waited for as long as it makes steps.
    bool is_beside() const { return beside_ns > since_ns; }
  };

  RankProgress progress_;
  std::optional<Successor> successor_;
  RankContest contest_;
  Shared* shared_;
  int64_t replayed_until_;  // records up to here were processed before a restart
  std::map<ProducerKey, SequenceRanges> seen_;  // since the start of this process
  std::vector<EventChunk> chunks_;              // by offset
  std::vector<Interval> carried_;               // what spans into the next window of time
  int64_t carried_offset_ = 0;
  StepTable steps_;
  std::vector<Mark> marks_;  // of open windows, all but the begins and ends of steps; in no order
  std::map<int64_t, HeldReport> reports_;  // by time
  int64_t max_report_ns_ = 0;
  int64_t reported_ns_ = -1;  // of the newest report that was taken
  CollectiveRows collectives_;
  std::vector<Lane> lanes_;
  std::vector<LaneKind> lane_kinds_;
  std::vector<uint32_t> lane_numbers_;  // of the batch at hand
  uint64_t late_ = 0;                   // for the next window's completeness
  int64_t late_offset_ = 0;             // of the first of them
};

}  // namespace eroica
