#include "stream_ops/runtime/stream_thread.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "schemas/check.h"
#include "stream_ops/runtime/random_id.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kEndQueryInterval{
    100};  // asking for the end of a partition may cost a round trip

constexpr milliseconds kRestorePollTimeout{20};
constexpr uint32_t kReopenedMax = 5;

bool MayPass(const absl::Status& status) {
  return status.code() == absl::StatusCode::kAborted ||
         status.code() == absl::StatusCode::kUnavailable ||
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
      input_(TopicName(options_.task.topic_prefix, stage.input)),
      flush_timeout_(options_.flush_timeout),
      backoff_({.first = options_.retry_backoff,
                .longest = options_.retry_backoff_max,
                .times_max = options_.retries_max}),
      upstream_(log, options_.upstreams),
      progress_(options_.progress) {
  EROICA_CHECK(options_.poll_records_max > 0 && (options_.changelog || !transactional()));
  if (options_.changelog)
    restorer_.emplace(log_, store_, stage_.name,
                      ChangelogTopic(options_.task.topic_prefix, stage_.name), RandomId());
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
  probe_.records_pending = pending_.size() - pending_next_;
  MeasureClients(now);
  LogLate(now);
  if (!status.ok()) return BackOff(status, now);
  if (backoff_.failures() > 0)
    spdlog::info("stage={} topic={} goes on after {} failures in a row", stage_.name, input_,
                 backoff_.failures());
  backoff_.Reset();
  return milliseconds(0);
}

void StreamThread::MeasureClients(TimePoint now) {
  constexpr std::chrono::seconds kApart{1};
  if (measured_at_ && now - *measured_at_ < kApart) return;
  measured_at_ = now;
  if (consumer_ != nullptr) probe_.consumer = consumer_->Measure();
  if (producer_ != nullptr) probe_.producer = producer_->Measure();
}

absl::Status StreamThread::Work(TimePoint now) {
  if (consumer_ == nullptr) {
    if (const absl::Status status = Open(); !status.ok()) return status;
  }
  if (commit_step_ != CommitStep::kNone) {
    if (const absl::Status status = HearRebalances(); !status.ok()) return status;
  }
  if (restart_needed_) {
    if (const absl::Status status = RestartTasks(now); !status.ok()) return status;
  }
  if (const absl::Status status = FinishCommit(); !status.ok()) return status;
  if (pending_next_ == pending_.size()) {
    if (const absl::Status status = Poll(now); !status.ok()) return status;
  }
  if (const absl::Status status = Restore(now); !status.ok()) return status;
  if (const absl::Status status = ProcessPending(now); !status.ok()) return status;
  if (const absl::Status status = OrderReading(now); !status.ok()) return status;
  if (const absl::Status status = PunctuateIdle(now); !status.ok()) return status;
  if (const absl::Status status = PunctuateMinute(now); !status.ok()) return status;
  return CommitIsDue(now) ? Commit(now) : absl::OkStatus();
}

absl::Status StreamThread::Open() {
  absl::StatusOr<std::unique_ptr<LogProducer>> producer = NewProducer();
  if (!producer.ok()) return producer.status();
  absl::StatusOr<std::unique_ptr<LogConsumer>> consumer = log_.NewConsumer(options_.consumer);
  if (!consumer.ok()) return consumer.status();
  if (const absl::Status status = (*consumer)->Subscribe({input_}, this); !status.ok())
    return status;
  producer_ = *std::move(producer);
  consumer_ = *std::move(consumer);
  return absl::OkStatus();
}

// As after a crash: what was not committed is done again, by whoever is given the partitions.
absl::Status StreamThread::Reopen(const absl::Status& reason, TimePoint now) {
  reopened_ = now - reopened_at_ < std::chrono::minutes(1) ? reopened_ + 1 : 1;
  reopened_at_ = now;
  if (reopened_ > kReopenedMax) return absl::FailedPreconditionError(reason.message());
  closing_ = true;  // the consumer's good-bye commits nothing
  consumer_.reset();
  producer_.reset();
  closing_ = false;
  if (restorer_) restorer_->Clear();
  to_pause_.clear();
  tasks_.clear();
  DropPending();
  commit_step_ = CommitStep::kNone;
  restart_needed_ = false;
  in_transaction_ = false;
  ++probe_.restarts;
  return absl::UnavailableError(reason.message());
}

absl::StatusOr<std::unique_ptr<LogProducer>> StreamThread::NewProducer() {
  in_transaction_ = false;
  return transactional() ? log_.NewTransactionalProducer(options_.transactional_id)
                         : log_.NewProducer();
}

// A commit that takes long must not go on after our partitions have gone to somebody else.
absl::Status StreamThread::HearRebalances() {
  std::vector<ConsumerRecord> none;
  const absl::Status status = consumer_->Poll(milliseconds(0), 0, &none);
  return absl::IsAborted(status) ? Reopen(status, now_) : status;
}

// What has come to us is read once its task is restored.
absl::Status StreamThread::Restore(TimePoint now) {
  if (!restorer_) return absl::OkStatus();
  probe_.tasks_restoring = restorer_->size();
  absl::StatusOr<ChangelogRestorer::Restored> restored = restorer_->Step(now, kRestorePollTimeout);
  if (!restored.ok()) return restored.status();
  probe_.changelog_records_read = restorer_->records_read();
  probe_.changelog_unreadable = restorer_->records_unreadable();
  absl::Status status;
  for (auto& [partition, owner] : *restored) {
    if (status.ok()) status = BeginTask(partition, std::move(owner), now);
    if (!status.ok()) restorer_->Start(partition);
  }
  probe_.tasks_restoring = restorer_->size();
  return status;
}

absl::Status StreamThread::BeginTask(const TopicPartition& partition, ChangelogOwner owner,
                                     TimePoint now) {
  absl::StatusOr<std::unique_ptr<StreamTask>> task = NewTask(partition, std::move(owner));
  if (!task.ok()) return task.status();
  const int64_t start = (*task)->restart_offset().value_or(0);
  if (const absl::Status status = consumer_->Seek(partition, start); !status.ok()) return status;
  if (const absl::Status status = consumer_->Resume(partition); !status.ok()) return status;
  stale_below_[partition] = pending_.size();
  tasks_[partition] = TaskState{*std::move(task), now, {}, false, now};
  probe_.tasks = tasks_.size();
  spdlog::info("stage={} partition={} restored, reading on at {}", stage_.name, partition.partition,
               start);
  return absl::OkStatus();
}

absl::Status StreamThread::Poll(TimePoint now) {
  pending_.clear();
  pending_next_ = 0;
  stale_below_.clear();
  const bool restoring = restorer_ && !restorer_->done();
  const absl::Status status = consumer_->Poll(restoring ? milliseconds(0) : options_.poll_timeout,
                                              options_.poll_records_max, &pending_);
  probe_.corrupt_bytes = consumer_->corrupt_bytes();
  for (DamagedRange& range : consumer_->TakeDamaged()) damaged_.push_back(std::move(range));
  probe_.records_received += pending_.size();
  for (const ConsumerRecord& record : pending_) {
    probe_.bytes_received += record.value.size();
    if (const auto task = tasks_.find({record.topic, record.partition}); task != tasks_.end()) {
      if (record.offset < task->second.reread_until) continue;  // no news
      task->second.active_at = now;
      task->second.idle_told = false;
    }
  }
  progress_.Set(!pending_.empty() || reading_ordered_ || restoring || !status.ok());
  if (absl::IsAborted(status)) return Reopen(status, now);
  if (!status.ok()) return status;
  polled_ = true;
  for (const TopicPartition& partition : std::exchange(to_pause_, {})) {
    if (!restorer_->restores(partition)) continue;  // was taken from us again
    if (const absl::Status paused = consumer_->Pause(partition); !paused.ok()) return paused;
  }
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
    SkipDamaged(partition, record.offset);
    ++records_since_commit_;
    if (const absl::Status status = task->second.task->Process(record); !status.ok()) {
      restart_needed_ = true;  // nobody knows how far the processor came
      return status;
    }
    NoteRead(record, &task->second);
    if (const absl::Status status = SendOutputs(*task->second.task); !status.ok()) return status;
  }
  while (!damaged_.empty())
    SkipDamaged(TopicPartition(damaged_.front().partition), std::numeric_limits<int64_t>::max());
  return absl::OkStatus();
}

// The upstreams are asked before the ends: what they send between the two is behind an end.
absl::Status StreamThread::PunctuateIdle(TimePoint now) {
  const std::vector<TopicPartition> silent = SilentPartitions(now);
  if (silent.empty()) return absl::OkStatus();
  const absl::StatusOr<bool> upstream = upstream_.CaughtUp(now);
  if (!upstream.ok()) return upstream.status();
  if (!*upstream) return absl::OkStatus();
  const absl::StatusOr<std::optional<Ends>> ends = AskEnds();
  if (!ends.ok()) return ends.status();
  for (const TopicPartition& partition : silent) {
    TaskState& state = tasks_.at(partition);
    state.end_asked_at = now;
    const absl::StatusOr<bool> at_end = AtEnd(partition, *ends);
    if (!at_end.ok()) return at_end.status();
    if (!*at_end) continue;
    state.idle_told = true;
    end_reached_ = true;
    ++probe_.idle_punctuations;
    if (const absl::Status status = Punctuate(*state.task, PunctuationType::kIdle); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

std::vector<TopicPartition> StreamThread::SilentPartitions(TimePoint now) const {
  std::vector<TopicPartition> silent;
  if (!options_.idle_timeout) return silent;
  for (const auto& [partition, state] : tasks_) {
    if (state.read == ReadingState::kUnloaded || state.IsRereading()) continue;
    if (!state.idle_told && now - state.active_at >= *options_.idle_timeout &&
        now - state.end_asked_at >= kEndQueryInterval)
      silent.push_back(partition);
  }
  return silent;
}

absl::Status StreamThread::PunctuateMinute(TimePoint now) {
  if (!options_.idle_timeout) return absl::OkStatus();
  if (!minute_at_) minute_at_ = now;
  if (now - *minute_at_ < std::chrono::minutes(1)) return absl::OkStatus();
  minute_at_ = now;
  for (auto& [partition, state] : tasks_) {
    // A job is forgotten by what its task has read: not before it has read it again.
    if (state.read == ReadingState::kUnloaded || state.IsRereading()) continue;
    if (const absl::Status status = Punctuate(*state.task, PunctuationType::kMinute); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

// Nothing: the log leaves that to its consumers, partition by partition.
absl::StatusOr<std::optional<StreamThread::Ends>> StreamThread::AskEnds() {
  absl::StatusOr<Ends> ends = log_.admin().EndOffsets(input_);
  if (absl::IsUnimplemented(ends.status())) return std::nullopt;
  if (!ends.ok()) return ends.status();
  return *std::move(ends);
}

absl::StatusOr<bool> StreamThread::AtEnd(const TopicPartition& partition,
                                         const std::optional<Ends>& ends) {
  const absl::StatusOr<int64_t> position = consumer_->Position(partition);
  if (!position.ok()) return position.status();
  if (ends) {
    const auto end = ends->find(partition);
    return end != ends->end() && *position >= end->second;
  }
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

// They are read again.
void StreamThread::DropPending() {
  probe_.records_ignored += pending_.size() - pending_next_;
  pending_.clear();
  pending_next_ = 0;
  damaged_.clear();
}

absl::Status StreamThread::RestartTasks(TimePoint now) {
  producer_.reset();  // before its successor: what it has not committed is void
  absl::StatusOr<std::unique_ptr<LogProducer>> producer = NewProducer();
  if (!producer.ok()) return producer.status();
  producer_ = *std::move(producer);
  DropPending();
  stale_below_.clear();
  records_since_commit_ = 0;
  commit_step_ = CommitStep::kNone;
  for (auto task = tasks_.begin(); task != tasks_.end();) {
    if (const absl::Status status = RestartTask(task->first, &task->second); !status.ok())
      return status;
    task = restorer_ ? tasks_.erase(task) : std::next(task);
  }
  RestartIdleTimers(now);
  restart_needed_ = false;
  ++probe_.restarts;
  return absl::OkStatus();
}

// With a changelog it is restored as if it had just come: the changelog may have a commit that the
// store has not.
absl::Status StreamThread::RestartTask(const TopicPartition& partition, TaskState* state) {
  if (restorer_) {
    if (const absl::Status status = consumer_->Pause(partition); !status.ok()) return status;
    restorer_->Start(partition);
    return absl::OkStatus();
  }
  const std::optional<int64_t> first = state->task->restart_offset();
  absl::StatusOr<std::unique_ptr<StreamTask>> task = NewTask(partition, std::nullopt);
  if (!task.ok()) return task.status();
  if (first) {
    if (const absl::Status status = consumer_->Seek(partition, *first); !status.ok()) return status;
  }
  state->task = *std::move(task);
  state->idle_told = false;
  state->reread_until = 0;
  if (std::exchange(state->read, ReadingState::kReading) == ReadingState::kReading)
    return absl::OkStatus();
  return consumer_->Resume(partition);
}

absl::StatusOr<std::unique_ptr<StreamTask>> StreamThread::NewTask(
    const TopicPartition& partition, std::optional<ChangelogOwner> owner) {
  auto task = std::make_unique<StreamTask>(TaskId{stage_.name, partition}, options_.task,
                                           stage_.new_processor(), store_, &probe_);
  if (owner) task->KeepChangelog(*std::move(owner), producer_->record_bytes_max());
  if (const absl::Status status = task->Init(); !status.ok()) return status;
  return task;
}

std::optional<int64_t> StreamThread::OnPartitionAssigned(const TopicPartition& partition) {
  if (restorer_) {
    restorer_->Start(partition);
    to_pause_.insert(partition);
    probe_.tasks_restoring = restorer_->size();
    return std::nullopt;
  }
  stale_below_[partition] = pending_.size();
  absl::StatusOr<std::unique_ptr<StreamTask>> task = NewTask(partition, std::nullopt);
  if (!task.ok()) {
    callback_status_.Update(task.status());
    return std::nullopt;
  }
  // A task that this store does not know begins with the oldest record, not with the group's
  // commit: without the former owner's progress the windows around the commit would be cut in two,
  // and half a window makes a false finding.
  const int64_t start = (*task)->restart_offset().value_or(0);
  tasks_[partition] = TaskState{*std::move(task), now_, {}, false, now_};
  probe_.tasks = tasks_.size();
  return start;
}

void StreamThread::OnPartitionRevoked(const TopicPartition& partition, bool lost) {
  if (!lost && !closing_ && !restart_needed_) {
    // What cannot be committed now is done again by the next owner.
    if (const absl::Status status = Commit(now_); !status.ok()) LogRetry(status, now_);
  }
  // What was appended for it is in the transaction still, which must not be committed.
  if (in_transaction_) restart_needed_ = true;
  if (restorer_) restorer_->Drop(partition);
  tasks_.erase(partition);
  probe_.tasks = tasks_.size();
}

// What was processed of the old partition is committed; what is kept of it stays.
void StreamThread::OnPartitionMadeAnew(const TopicPartition& partition, int64_t offset) {
  const auto task = tasks_.find(partition);
  if (task == tasks_.end()) return;  // being restored: its position is sought then
  if (const absl::Status status = Commit(now_); !status.ok()) {
    callback_status_.Update(status);
    return;
  }
  callback_status_.Update(task->second.task->BeginAnew(stage_.new_processor(), offset));
  task->second.reread_until = 0;
}

void StreamThread::RestartIdleTimers(TimePoint from) {
  for (auto& [partition, state] : tasks_) state.active_at = std::max(state.active_at, from);
}

std::map<TopicPartition, StreamThread::IdleTimer> StreamThread::idle_timers(TimePoint now) const {
  std::map<TopicPartition, IdleTimer> timers;
  for (const auto& [partition, state] : tasks_) {
    timers[partition] = {std::chrono::duration_cast<milliseconds>(now - state.active_at),
                         state.idle_told};
  }
  return timers;
}

void StreamThread::RestoreIdleTimers(const std::map<TopicPartition, IdleTimer>& timers,
                                     TimePoint now) {
  for (auto& [partition, state] : tasks_) {
    const auto timer = timers.find(partition);
    if (timer == timers.end()) continue;
    state.active_at = now - timer->second.quiet;
    state.idle_told = timer->second.punctuated;
  }
}

absl::StatusOr<milliseconds> StreamThread::BackOff(const absl::Status& status, TimePoint now) {
  // A topic that was there before is being made anew.
  const bool may_pass = MayPass(status) || (polled_ && absl::IsNotFound(status));
  const std::optional<milliseconds> pause = may_pass ? backoff_.Next() : std::nullopt;
  if (!pause) {
    ++probe_.errors;
    return status;
  }
  ++probe_.retries;
  retry_at_ = now + *pause;
  RestartIdleTimers(retry_at_);
  LogRetry(status, now);
  return *pause;
}

void StreamThread::LogRetry(const absl::Status& status, TimePoint now) {
  const std::optional<uint64_t> not_logged = retry_log_.Due(now);
  if (!not_logged) return;
  spdlog::warn("stage={} topic={} retry=\"{}\" not_logged={}", stage_.name, input_,
               std::string(status.message()), *not_logged);
}

absl::StatusOr<bool> StreamThread::CaughtUp() {
  if (!polled_ || pending_next_ < pending_.size()) return false;
  if (restart_needed_ || reading_ordered_ || (restorer_ && !restorer_->done())) return false;
  const absl::StatusOr<std::optional<Ends>> ends = AskEnds();
  if (!ends.ok()) return ends.status();
  for (const TopicPartition& partition : consumer_->Assignment()) {
    const absl::StatusOr<bool> at_end = AtEnd(partition, *ends);
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
  flush_timeout_ = std::min(flush_timeout_, options_.close_timeout);
  absl::Status status;
  if (consumer_ != nullptr && !restart_needed_) status = Commit(now);
  closing_ = true;
  consumer_.reset();
  return status;
}

}  // namespace eroica
