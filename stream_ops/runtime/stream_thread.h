// The loop of a stage: poll -> process -> punctuate -> commit, over the partitions that one
// consumer was given. One step is RunOnce(now): it starts no thread and asks no clock, so that
// tests drive it by hand; StageThreads gives each its thread. Every part of a step is bounded by an
// option.
//
// Idleness (wall time) is told to a task once, when its position is the end of its partition,
// nothing came for idle_timeout, the stages before it have processed all of their input, and we
// were looking all that while: after a retry or a step that
// took long the timer starts anew, because silence that we caused ourselves is no silence of the
// rank. Minutes of wall time are announced as well, so that jobs of which nothing comes any more
// end; without an idle timeout (a bounded run) neither is.
//
// Where memory is short, here or in a later stage, partitions are read in the order of their event
// time (reading_order.h); without an idle timeout, in a bounded run, all are read as they come.
//
// With a changelog (changelog.h) a partition that comes to us is paused and its task restored in
// steps, while the thread goes on with its other partitions and polls; only then is it read. With
// transactions the outputs of all tasks, their changelogs and their positions in the input become
// visible at once, at the commit, or never.
//
// Errors that may pass (kUnavailable, kDeadlineExceeded, a full queue) pause the stage with growing
// steps and are logged at a bounded rate; while paused nothing is polled and the outbox keeps what
// waits. Where outputs were lost on their way, the tasks go back to their last commit, as after a
// crash.
// Where the group has given our place to somebody with our name (after a broker's restart that may
// be ourselves) the stage joins anew, a few times in a row.
// Any other error ends the stage: RunOnce answers with it.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "state_store/state_store.h"
#include "stream_ops/log/log.h"
#include "stream_ops/runtime/backoff.h"
#include "stream_ops/runtime/changelog_restorer.h"
#include "stream_ops/runtime/reading_order.h"
#include "stream_ops/runtime/stage_probe.h"
#include "stream_ops/runtime/stage_progress.h"
#include "stream_ops/runtime/stream_task.h"
#include "stream_ops/runtime/topology.h"
#include "stream_ops/runtime/upstream_progress.h"

namespace eroica {

using TimePoint = std::chrono::steady_clock::time_point;

struct StreamThreadOptions {
  StreamTaskOptions task;
  ConsumerOptions consumer;
  // Tasks that may come from other nodes and go to them keep a changelog.
  bool changelog = false;
  // Not empty: exactly once, by transactions of this id. Needs the changelog. The same id again
  // takes over from the thread that had it before.
  std::string transactional_id;
  size_t poll_records_max = 64;  // records of one poll: 64 event batches are some 4 MB
  std::chrono::milliseconds poll_timeout{100};
  std::optional<std::chrono::milliseconds> commit_interval{500};  // nothing: by records only
  uint64_t commit_records_max = 1024;
  std::chrono::milliseconds flush_timeout{10'000};
  // A commit as the stage ends waits for the log no longer than this.
  std::chrono::milliseconds close_timeout{2'000};
  std::optional<std::chrono::milliseconds> idle_timeout{
      2'000};  // nothing: a task never counts as idle
  // Where one of these has not processed all of its input, our silence is its delay.
  std::vector<Upstream> upstreams;
  // Told whether this thread is behind; without it nobody is.
  std::shared_ptr<StageProgress> progress = nullptr;
  // Of the later stages in this process: while one is crowded, those that are ahead wait.
  std::vector<std::shared_ptr<const MemoryPool>> later_pools;
  ReadingOrderOptions reading_order;
  std::chrono::milliseconds retry_backoff{100};
  std::chrono::milliseconds retry_backoff_max{5'000};
  // in a row; then the error ends the stage
  uint32_t retries_max = std::numeric_limits<uint32_t>::max();
};

class StreamThread : private RebalanceListener {
 public:
  // log, store and stage must outlive the thread.
  StreamThread(Log& log, StateStore& store, const Stage& stage, StreamThreadOptions options);
  // Without Close nothing is committed any more, as if the process had died.
  ~StreamThread() override;

  // One step at the time `now`, which never goes back. Answers how long the caller should wait
  // before the next one: 0 unless paused.
  absl::StatusOr<std::chrono::milliseconds> RunOnce(TimePoint now);
  // Everything that was there when it was asked is processed; false before the first poll.
  absl::StatusOr<bool> CaughtUp();
  // Of a bounded input: tells every task that nothing more will come, and commits.
  absl::Status EndInput(TimePoint now);
  // Commits and lets go of the partitions. Last.
  absl::Status Close(TimePoint now);

  const StageProbe& probe() const { return probe_; }

  // For who goes on with another thread where this one stood, in the same time: how long each
  // partition has been quiet, and whether its task was punctuated for it.
  struct IdleTimer {
    std::chrono::milliseconds quiet{0};
    bool punctuated = false;
  };
  std::map<TopicPartition, IdleTimer> idle_timers(TimePoint now) const;
  // Once it has caught up.
  void RestoreIdleTimers(const std::map<TopicPartition, IdleTimer>& timers, TimePoint now);

 private:
  struct TaskState {
    std::unique_ptr<StreamTask> task;
    TimePoint active_at;  // the last record, or the last moment at which we could not have seen one
    TimePoint end_asked_at;  // the log was last asked whether we are at the end
    bool idle_told = false;
    TimePoint checkpoint_at{};  // the end of its changelog was last asked for
    // By reading_order.h. Records below reread_until were processed before the task was loaded
    // again, at loaded_from.
    ReadingState read = ReadingState::kReading;
    int64_t time_ms = std::numeric_limits<int64_t>::min();
    uint64_t unloaded_bytes = 0;
    int64_t loaded_from = 0;
    int64_t reread_until = 0;

    // It has not come again to where it was.
    bool IsRereading() const { return task->next_offset().value_or(0) < reread_until; }
  };

  std::optional<int64_t> OnPartitionAssigned(const TopicPartition& partition) override;
  void OnPartitionRevoked(const TopicPartition& partition, bool lost) override;
  void OnPartitionMadeAnew(const TopicPartition& partition, int64_t offset) override;

  // How far a commit has come. Each step is done again where it fails.
  enum class CommitStep : uint8_t {
    kNone,
    kRows,       // outputs and changed rows are to become durable
    kConfirm,    // positions are to go to the changelogs
    kPositions,  // and to become durable; in transactions: is to be committed
    kStore,      // all is to enter the store
  };

  absl::Status Work(TimePoint now);
  void MeasureClients(TimePoint now);
  absl::Status Open();
  absl::Status Reopen(const absl::Status& reason, TimePoint now);
  absl::StatusOr<std::unique_ptr<LogProducer>> NewProducer();
  absl::Status HearRebalances();
  absl::Status Poll(TimePoint now);
  void DropPending();
  absl::Status Restore(TimePoint now);
  absl::Status BeginTask(const TopicPartition& partition, ChangelogOwner owner, TimePoint now);
  absl::Status ProcessPending(TimePoint now);
  void SkipDamaged(const TopicPartition& partition, int64_t before);
  void NoteRead(const ConsumerRecord& record, TaskState* state);
  absl::Status OrderReading(TimePoint now);
  ReadingPressure Pressure() const;
  absl::StatusOr<std::map<TopicPartition, PartitionProgress>> MeasureReading(TimePoint now);
  absl::Status FollowPlan(const ReadingPlan& plan, TimePoint now);
  absl::Status SetReading(const TopicPartition& partition, ReadingState target, TaskState* state);
  absl::Status Load(const TopicPartition& partition, TaskState* state);
  void LogLate(TimePoint now);
  absl::Status PunctuateIdle(TimePoint now);
  absl::Status PunctuateMinute(TimePoint now);
  std::vector<TopicPartition> SilentPartitions(TimePoint now) const;
  using Ends = std::map<TopicPartition, int64_t>;
  absl::StatusOr<std::optional<Ends>> AskEnds();
  absl::StatusOr<bool> AtEnd(const TopicPartition& partition, const std::optional<Ends>& ends);
  absl::Status Punctuate(StreamTask& task, PunctuationType type);
  absl::Status SendOutputs(StreamTask& task);
  absl::Status FlushOutputs();
  bool CommitIsDue(TimePoint now);
  absl::Status Commit(TimePoint now);
  absl::Status BeginCommit();
  absl::Status FinishCommit();
  absl::Status CommitRows();
  absl::Status ConfirmCommit();
  absl::Status CommitPositions();
  absl::Status CommitToStore();
  absl::Status CommitToGroup(bool all_committed);
  GroupOffsets Positions(bool all_committed);
  std::optional<int64_t> ChangelogEnd(const TopicPartition& partition, TaskState* state);
  absl::Status RestartTasks(TimePoint now);
  absl::Status RestartTask(const TopicPartition& partition, TaskState* state);
  absl::StatusOr<std::unique_ptr<StreamTask>> NewTask(const TopicPartition& partition,
                                                      std::optional<ChangelogOwner> owner);
  bool transactional() const { return !options_.transactional_id.empty(); }
  void RestartIdleTimers(TimePoint from);
  absl::StatusOr<std::chrono::milliseconds> BackOff(const absl::Status& status, TimePoint now);
  void LogRetry(const absl::Status& status, TimePoint now);

  Log& log_;
  StateStore& store_;
  const Stage& stage_;
  const StreamThreadOptions options_;
  const std::string input_;
  StageProbe probe_;

  std::map<TopicPartition, TaskState> tasks_;
  std::vector<ConsumerRecord> pending_;  // polled; from pending_next_ on not processed yet
  size_t pending_next_ = 0;
  std::vector<DamagedRange> damaged_;  // polled in between, not skipped yet
  std::set<TopicPartition> to_pause_;  // assigned in this poll, to be restored
  // pending_ records of a partition at smaller indices belong to a former assignment
  std::map<TopicPartition, size_t> stale_below_;
  CommitStep commit_step_ = CommitStep::kNone;
  std::chrono::milliseconds flush_timeout_;
  bool in_transaction_ = false;
  absl::Status callback_status_;  // of the rebalance callbacks, which cannot return one
  TimePoint now_;                 // of the step that runs, for the callbacks
  std::optional<TimePoint> stepped_at_;
  std::optional<TimePoint> committed_at_;
  std::optional<TimePoint> measured_at_;
  std::optional<TimePoint> minute_at_;  // when the last minute was announced
  uint64_t records_since_commit_ = 0;
  bool polled_ = false;
  bool end_reached_ = false;     // and the group does not know it yet
  bool restart_needed_ = false;  // the tasks hold what can no longer be committed
  bool closing_ = false;         // nothing is committed any more
  Backoff backoff_;
  uint32_t reopened_ = 0;  // in a row, each less than a minute after the one before
  TimePoint reopened_at_;
  TimePoint retry_at_;
  LogRate retry_log_;
  UpstreamProgress upstream_;
  StageProgress::Share progress_;
  std::map<TopicPartition, int64_t> known_ends_;  // of the input, as they were at ends_known_at_
  std::optional<TimePoint> ends_known_at_;
  bool reading_ordered_ = false;  // a task waits
  LogRate order_log_;
  LogRate late_log_;
  uint64_t forced_logged_ = 0;  // windows, and late events, as of the last line about them
  uint64_t late_logged_ = 0;

  std::optional<ChangelogRestorer> restorer_;  // with a changelog
  std::unique_ptr<LogProducer> producer_;
  std::unique_ptr<LogConsumer> consumer_;  // last: going away, it tells us of its partitions
};

}  // namespace eroica
