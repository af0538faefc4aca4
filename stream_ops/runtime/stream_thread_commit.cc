// The part of the loop that makes durable what was done: outputs, changelogs, positions, the store.
#include <algorithm>
#include <utility>

#include "stream_ops/runtime/stream_thread.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

// How far a node's store may lie behind its changelog: what a restart reads again.
constexpr milliseconds kCheckpointInterval{30'000};

}  // namespace

absl::Status StreamThread::SendOutputs(StreamTask& task) {
  if (!task.has_outputs()) return absl::OkStatus();
  if (transactional() && !in_transaction_) {
    if (const absl::Status status = producer_->BeginTransaction(); !status.ok()) {
      restart_needed_ = true;
      return status;
    }
    in_transaction_ = true;
  }
  absl::Status status = task.SendOutputs(*producer_);
  if (status.code() == absl::StatusCode::kResourceExhausted) {
    if (const absl::Status flushed = FlushOutputs(); !flushed.ok()) return flushed;  // makes room
    status = task.SendOutputs(*producer_);
  }
  // A full queue keeps what it has. Any other error may speak of records that were handed over
  // before.
  if (!status.ok() && status.code() != absl::StatusCode::kResourceExhausted) restart_needed_ = true;
  return status;
}

absl::Status StreamThread::FlushOutputs() {
  absl::Status status = producer_->Flush(flush_timeout_);
  // What was refused for good is counted, by whichever task: its input need not be read again.
  while (status.code() == absl::StatusCode::kInvalidArgument && !tasks_.empty() &&
         tasks_.begin()->second.task->CountRefused(*producer_))
    status = producer_->Flush(flush_timeout_);
  // kDeadlineExceeded: still on its way. Anything else: something is lost, and only reading its
  // input again brings it back.
  if (!status.ok() && status.code() != absl::StatusCode::kDeadlineExceeded) restart_needed_ = true;
  return status;
}

bool StreamThread::CommitIsDue(TimePoint now) {
  if (!committed_at_) committed_at_ = now;
  if (records_since_commit_ >= options_.commit_records_max) return true;
  return options_.commit_interval && now - *committed_at_ >= *options_.commit_interval;
}

absl::Status StreamThread::Commit(TimePoint now) {
  if (commit_step_ != CommitStep::kNone) {
    if (const absl::Status status = FinishCommit(); !status.ok()) return status;
  }
  committed_at_ = now;
  bool dirty = false;
  for (auto& [partition, state] : tasks_) {
    if (const absl::Status status = SendOutputs(*state.task); !status.ok()) return status;
    dirty = dirty || state.task->dirty();
  }
  if (!dirty) return std::exchange(end_reached_, false) ? CommitToGroup(true) : absl::OkStatus();
  if (const absl::Status status = BeginCommit(); !status.ok()) {
    restart_needed_ = true;
    return status;
  }
  return FinishCommit();
}

absl::Status StreamThread::BeginCommit() {
  for (auto& [partition, state] : tasks_) {
    const std::optional<int64_t> changelog_end = ChangelogEnd(partition, &state);
    if (const absl::Status status = state.task->BeginCommit(changelog_end); !status.ok())
      return status;
  }
  commit_step_ = CommitStep::kRows;
  return absl::OkStatus();
}

// Asked for seldom. Where it cannot be had, a restart has more to read.
std::optional<int64_t> StreamThread::ChangelogEnd(const TopicPartition& partition,
                                                  TaskState* state) {
  if (!restorer_ || now_ - state->checkpoint_at < kCheckpointInterval) return std::nullopt;
  state->checkpoint_at = now_;
  const absl::StatusOr<int64_t> end = restorer_->CommittedEnd(partition.partition);
  return end.ok() ? std::optional(*end) : std::nullopt;
}

absl::Status StreamThread::FinishCommit() {
  if (commit_step_ == CommitStep::kRows) {
    if (const absl::Status status = CommitRows(); !status.ok()) return status;
    commit_step_ = CommitStep::kConfirm;
  }
  if (commit_step_ == CommitStep::kConfirm) {
    if (const absl::Status status = ConfirmCommit(); !status.ok()) return status;
    commit_step_ = CommitStep::kPositions;
  }
  if (commit_step_ == CommitStep::kPositions) {
    if (const absl::Status status = CommitPositions(); !status.ok()) return status;
    commit_step_ = CommitStep::kStore;
  }
  return commit_step_ == CommitStep::kStore ? CommitToStore() : absl::OkStatus();
}

absl::Status StreamThread::CommitRows() {
  for (auto& [partition, state] : tasks_) {
    if (const absl::Status status = SendOutputs(*state.task); !status.ok()) return status;
  }
  // In a transaction nothing can be seen before its end.
  return transactional() ? absl::OkStatus() : FlushOutputs();
}

absl::Status StreamThread::ConfirmCommit() {
  if (const absl::Status status = consumer_->CheckMembership(); !status.ok()) return status;
  for (auto& [partition, state] : tasks_) state.task->ConfirmCommit();
  return absl::OkStatus();
}

absl::Status StreamThread::CommitPositions() {
  bool sent = false;
  for (auto& [partition, state] : tasks_) {
    sent = sent || state.task->has_outputs();
    if (const absl::Status status = SendOutputs(*state.task); !status.ok()) return status;
  }
  if (!transactional()) return sent ? FlushOutputs() : absl::OkStatus();
  if (!in_transaction_) return absl::OkStatus();  // nothing came of the input
  absl::StatusOr<std::string> group = consumer_->GroupMetadata();
  absl::Status status = group.status();
  if (status.ok())
    status = producer_->CommitTransaction({*std::move(group), Positions(false)}, flush_timeout_);
  if (status.ok()) in_transaction_ = false;
  const bool again = status.ok() || status.code() == absl::StatusCode::kUnavailable ||
                     status.code() == absl::StatusCode::kDeadlineExceeded;
  if (!again) restart_needed_ = true;
  return status;
}

// all_committed: whatever was polled is, so that the end of a partition may lie behind the last
// record, past the markers of transactions.
GroupOffsets StreamThread::Positions(bool all_committed) {
  GroupOffsets offsets;
  for (const auto& [partition, state] : tasks_) {
    if (const std::optional<TaskPosition> position = state.task->position()) {
      // What is to be read again is not processed yet, for the stages behind ours.
      const int64_t next = *state.task->next_offset();
      offsets[partition] = {position->restart, state.IsRereading()
                                                   ? std::max(next, position->restart)
                                                   : position->processed};
    }
    const absl::StatusOr<int64_t> next = all_committed && !state.IsRereading()
                                             ? consumer_->Position(partition)
                                             : absl::UnavailableError("");
    if (next.ok()) offsets[partition].processed = std::max(offsets[partition].processed, *next);
  }
  return offsets;
}

absl::Status StreamThread::CommitToStore() {
  for (auto& [partition, state] : tasks_) {
    if (const absl::Status status = state.task->Commit(); !status.ok()) return status;
  }
  commit_step_ = CommitStep::kNone;
  records_since_commit_ = 0;
  ++probe_.commits;
  return transactional() ? absl::OkStatus() : CommitToGroup(false);
}

// The group's offsets are for those who watch its lag, and for the stages behind ours: the store's
// are what we go on from. So losing one costs nothing.
absl::Status StreamThread::CommitToGroup(bool all_committed) {
  if (const absl::Status status = consumer_->Commit(Positions(all_committed)); !status.ok())
    LogRetry(status, now_);
  return absl::OkStatus();
}

}  // namespace eroica
