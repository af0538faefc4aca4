#include "stream_ops/runtime/stream_thread.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "schemas/check.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetryLogInterval{10'000};
constexpr milliseconds kEndQueryInterval{
    100};  // asking for the end of a partition may cost a round trip

bool MayPass(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kDeadlineExceeded ||
         status.code() == absl::StatusCode::kResourceExhausted;
}

}  // namespace

StreamThread::StreamThread(Log& log, StateStore& store, const Stage& stage,
                           StreamThreadOptions options)
    : log_(log),
      store_(store),
      stage_(stage),
      options_(std::move(options)),
      input_(TopicName(options_.task.topic_prefix, stage.input)) {
  EROICA_CHECK(options_.poll_records_max > 0);
}

StreamThread::~StreamThread() { closing_ = true; }

absl::StatusOr<milliseconds> StreamThread::RunOnce(TimePoint now) {
  EROICA_CHECK(!closing_);
  now_ = now;
  if (options_.idle_timeout && stepped_at_ && now - *stepped_at_ > *options_.idle_timeout / 2)
    RestartIdleTimers(now);
  stepped_at_ = now;
  if (now < retry_at_) return std::chrono::ceil<milliseconds>(retry_at_ - now);
  const absl::Status status = Work(now);
  if (!status.ok()) return BackOff(status, now);
  retries_ = 0;
  return milliseconds(0);
}

absl::Status StreamThread::Work(TimePoint now) {
  if (consumer_ == nullptr) {
    if (const absl::Status status = Open(); !status.ok()) return status;
  }
  if (const absl::Status status = FinishCommit(); !status.ok()) return status;
  if (restart_needed_) {
    if (const absl::Status status = RestartTasks(now); !status.ok()) return status;
  }
  if (pending_next_ == pending_.size()) {
    if (const absl::Status status = Poll(now); !status.ok()) return status;
  }
  if (const absl::Status status = ProcessPending(now); !status.ok()) return status;
  if (const absl::Status status = PunctuateIdle(now); !status.ok()) return status;
  if (const absl::Status status = PunctuateMinute(now); !status.ok()) return status;
  return CommitIsDue(now) ? Commit(now) : absl::OkStatus();
}

absl::Status StreamThread::Open() {
  absl::StatusOr<std::unique_ptr<LogProducer>> producer = log_.NewProducer();
  if (!producer.ok()) return producer.status();
  absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log_.NewConsumer(options_.consumer);
  if (!consumer.ok()) return consumer.status();
  if (const absl::Status status = (*consumer)->Subscribe({input_}, this); !status.ok())
    return status;
  producer_ = *std::move(producer);
  consumer_ = *std::move(consumer);
  return absl::OkStatus();
}

absl::Status StreamThread::Poll(TimePoint now) {
  pending_.clear();
  pending_next_ = 0;
  stale_below_.clear();
  const absl::Status status =
      consumer_->Poll(options_.poll_timeout, options_.poll_records_max, &pending_);
  probe_.corrupt_bytes = consumer_->corrupt_bytes();
  probe_.records_received += pending_.size();
  for (const ConsumerRecord& record : pending_) {
    probe_.bytes_received += record.value.size();
    if (const auto task = tasks_.find({record.topic, record.partition}); task != tasks_.end()) {
      task->second.active_at = now;
      task->second.idle_told = false;
    }
  }
  if (!status.ok()) return status;
  polled_ = true;
  return std::exchange(callback_status_, absl::OkStatus());
}

absl::Status StreamThread::ProcessPending(TimePoint) {
  for (auto& [partition, state] : tasks_) {  // what the log refused in an earlier step goes first
    if (const absl::Status status = SendOutputs(*state.task); !status.ok()) return status;
  }
  while (pending_next_ < pending_.size()) {
    const size_t index = pending_next_++;
    const ConsumerRecord& record = pending_[index];
    const TopicPartition partition{record.topic, record.partition};
    const auto task = tasks_.find(partition);
    const auto stale = stale_below_.find(partition);
    if (task == tasks_.end() || (stale != stale_below_.end() && index < stale->second)) {
      ++probe_.records_ignored;
      continue;
    }
    ++records_since_commit_;
    if (const absl::Status status = task->second.task->Process(record); !status.ok()) {
      restart_needed_ = true;  // nobody knows how far the processor came
      return status;
    }
    if (const absl::Status status = SendOutputs(*task->second.task); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status StreamThread::PunctuateIdle(TimePoint now) {
  if (!options_.idle_timeout) return absl::OkStatus();
  for (auto& [partition, state] : tasks_) {
    if (state.idle_told || now - state.active_at < *options_.idle_timeout ||
        now - state.end_asked_at < kEndQueryInterval)
      continue;
    state.end_asked_at = now;
    const absl::StatusOr<bool> at_end = AtEnd(partition);
    if (!at_end.ok()) return at_end.status();
    if (!*at_end) continue;
    state.idle_told = true;
    ++probe_.idle_punctuations;
    if (const absl::Status status = Punctuate(*state.task, PunctuationType::kIdle); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status StreamThread::PunctuateMinute(TimePoint now) {
  if (!options_.idle_timeout) return absl::OkStatus();
  if (!minute_at_) minute_at_ = now;
  if (now - *minute_at_ < std::chrono::minutes(1)) return absl::OkStatus();
  minute_at_ = now;
  for (auto& [partition, state] : tasks_) {
    if (const absl::Status status = Punctuate(*state.task, PunctuationType::kMinute); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> StreamThread::AtEnd(const TopicPartition& partition) {
  const absl::StatusOr<int64_t> position = consumer_->Position(partition);
  if (!position.ok()) return position.status();
  const absl::StatusOr<int64_t> end = consumer_->EndOffset(partition);
  if (!end.ok()) return end.status();
  return *position >= *end;
}

absl::Status StreamThread::Punctuate(StreamTask& task, PunctuationType type) {
  if (const absl::Status status = task.Punctuate(type); !status.ok()) {
    restart_needed_ = true;
    return status;
  }
  return SendOutputs(task);
}

absl::Status StreamThread::SendOutputs(StreamTask& task) {
  if (!task.has_outputs()) return absl::OkStatus();
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
  absl::Status status = producer_->Flush(options_.flush_timeout);
  // What was refused for good is counted, by whichever task: its input need not be read again.
  while (status.code() == absl::StatusCode::kInvalidArgument && !tasks_.empty() &&
         tasks_.begin()->second.task->CountRefused(*producer_))
    status = producer_->Flush(options_.flush_timeout);
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
  committed_at_ = now;
  bool dirty = false;
  for (auto& [partition, state] : tasks_) {
    if (const absl::Status status = SendOutputs(*state.task); !status.ok()) return status;
    dirty = dirty || state.task->dirty();
  }
  if (!dirty) return absl::OkStatus();
  if (const absl::Status status = FlushOutputs(); !status.ok()) return status;
  commit_begun_ = true;
  return FinishCommit();
}

absl::Status StreamThread::FinishCommit() {
  if (!commit_begun_) return absl::OkStatus();
  std::map<TopicPartition, int64_t> restart_offsets;
  for (auto& [partition, state] : tasks_) {
    if (const absl::Status status = state.task->Commit(); !status.ok()) return status;
    if (const std::optional<int64_t> restart = state.task->restart_offset())
      restart_offsets[partition] = *restart;
  }
  commit_begun_ = false;
  records_since_commit_ = 0;
  ++probe_.commits;
  // The group's offsets are for those who watch its lag: the store's are what we go on from. So
  // losing one costs nothing.
  if (const absl::Status status = consumer_->Commit(restart_offsets); !status.ok())
    LogRetry(status, now_);
  return absl::OkStatus();
}

absl::Status StreamThread::RestartTasks(TimePoint now) {
  absl::StatusOr<std::unique_ptr<LogProducer>> producer = log_.NewProducer();
  if (!producer.ok()) return producer.status();
  producer_ = *std::move(producer);
  pending_.clear();
  pending_next_ = 0;
  records_since_commit_ = 0;
  for (auto& [partition, state] : tasks_) {
    const std::optional<int64_t> first = state.task->restart_offset();
    absl::StatusOr<std::unique_ptr<StreamTask>> task = NewTask(partition);
    if (!task.ok()) return task.status();
    if (first) {
      if (const absl::Status status = consumer_->Seek(partition, *first); !status.ok())
        return status;
    }
    state.task = *std::move(task);
    state.idle_told = false;
  }
  RestartIdleTimers(now);
  restart_needed_ = false;
  ++probe_.restarts;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StreamTask>> StreamThread::NewTask(const TopicPartition& partition) {
  auto task = std::make_unique<StreamTask>(TaskId{stage_.name, partition}, options_.task,
                                           stage_.new_processor(), store_, &probe_);
  if (const absl::Status status = task->Init(); !status.ok()) return status;
  return task;
}

std::optional<int64_t> StreamThread::OnPartitionAssigned(const TopicPartition& partition) {
  stale_below_[partition] = pending_.size();
  absl::StatusOr<std::unique_ptr<StreamTask>> task = NewTask(partition);
  if (!task.ok()) {
    callback_status_.Update(task.status());
    return std::nullopt;
  }
  // A task that this store does not know begins with the oldest record, not with the group's
  // commit: without the former owner's progress the windows around the commit would be cut in two,
  // and half a window makes a false finding.
  const int64_t start = (*task)->restart_offset().value_or(0);
  tasks_[partition] = TaskState{*std::move(task), now_, {}, false};
  probe_.tasks = tasks_.size();
  return start;
}

void StreamThread::OnPartitionRevoked(const TopicPartition& partition, bool lost) {
  if (!lost && !closing_ && !restart_needed_) {
    // What cannot be committed now is done again by the next owner.
    if (const absl::Status status = Commit(now_); !status.ok()) LogRetry(status, now_);
  }
  tasks_.erase(partition);
  probe_.tasks = tasks_.size();
}

void StreamThread::RestartIdleTimers(TimePoint from) {
  for (auto& [partition, state] : tasks_) state.active_at = std::max(state.active_at, from);
}

absl::StatusOr<milliseconds> StreamThread::BackOff(const absl::Status& status, TimePoint now) {
  if (!MayPass(status) || retries_ >= options_.retries_max) {
    ++probe_.errors;
    return status;
  }
  ++probe_.retries;
  const milliseconds pause = std::min(
      options_.retry_backoff * (int64_t{1} << std::min(retries_, 16u)), options_.retry_backoff_max);
  ++retries_;
  retry_at_ = now + pause;
  RestartIdleTimers(retry_at_);
  LogRetry(status, now);
  return pause;
}

void StreamThread::LogRetry(const absl::Status& status, TimePoint now) {
  if (retry_logged_at_ && now - *retry_logged_at_ < kRetryLogInterval) {
    ++retries_unlogged_;
    return;
  }
  spdlog::warn("stage={} topic={} retry=\"{}\" not_logged={}", stage_.name, input_,
               std::string(status.message()), retries_unlogged_);
  retry_logged_at_ = now;
  retries_unlogged_ = 0;
}

absl::StatusOr<bool> StreamThread::CaughtUp() {
  if (!polled_ || pending_next_ < pending_.size()) return false;
  for (const TopicPartition& partition : consumer_->Assignment()) {
    const absl::StatusOr<bool> at_end = AtEnd(partition);
    if (!at_end.ok() || !*at_end) return at_end;
  }
  return true;
}

absl::Status StreamThread::EndInput(TimePoint now) {
  now_ = now;
  for (auto& [partition, state] : tasks_) {
    if (const absl::Status status = Punctuate(*state.task, PunctuationType::kEndOfInput);
        !status.ok())
      return status;
  }
  return Commit(now);
}

absl::Status StreamThread::Close(TimePoint now) {
  now_ = now;
  absl::Status status;
  if (consumer_ != nullptr && !restart_needed_) {
    status = FinishCommit();
    if (status.ok()) status = Commit(now);
  }
  closing_ = true;
  consumer_.reset();
  return status;
}

}  // namespace eroica
