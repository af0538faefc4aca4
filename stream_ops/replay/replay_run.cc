#include "stream_ops/replay/replay_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schemas/check.h"
#include "state_store/task_store.h"
#include "stream_ops/runtime/task_position.h"

namespace eroica {
namespace {

using std::chrono::milliseconds;

// What is fed at once: with stamps of arrival what came within so long, else so much.
constexpr int64_t kTickMs = 100;
constexpr uint64_t kRecordsAtOnce = 256;
constexpr uint64_t kBytesAtOnce = uint64_t{4} << 20;
// Once all that silence does has been done: the steps of time in which jobs grow old.
constexpr int64_t kMinuteMs = 60'000;
constexpr int64_t kStepsOfCheckpoint = 3'000;
constexpr milliseconds kCommitInterval{1};
constexpr milliseconds kFlushTimeout{10'000};

constexpr Topic kInputs[] = {Topic::kEvents, Topic::kCollectives, Topic::kPatterns};
constexpr Topic kOutputs[] = {Topic::kFindings, Topic::kDeadLetter};

StreamThreadOptions ThreadOptions(const ReplayOptions& options, bool with_silence, int depth) {
  StreamThreadOptions thread;
  thread.task = {options.topic_prefix, options.replay_id};
  thread.poll_records_max = options.poll_records_max;
  thread.poll_timeout = milliseconds(0);
  thread.commit_interval = kCommitInterval;
  thread.idle_timeout = with_silence ? std::optional(options.idle_timeout * depth) : std::nullopt;
  thread.retries_max = 0;
  return thread;
}

int64_t EncodeQuiet(const StreamThread::IdleTimer& timer) {
  return timer.punctuated ? -1 - timer.quiet.count() : timer.quiet.count();
}

StreamThread::IdleTimer DecodeQuiet(int64_t quiet_ms) {
  return quiet_ms < 0 ? StreamThread::IdleTimer{milliseconds(-1 - quiet_ms), true}
                      : StreamThread::IdleTimer{milliseconds(quiet_ms), false};
}

}  // namespace

std::vector<std::string> ReplayTopics(std::string_view topic_prefix) {
  std::vector<std::string> topics;
  for (const Topic topic : kInputs) topics.push_back(TopicName(topic_prefix, topic));
  return topics;
}

ReplayRun::ReplayRun(const ReplayInput& input, RecordingLog& log, StateStore& store,
                     const Topology& topology, ReplayClock* clock, ReplayOptions options)
    : input_(input),
      log_(log),
      store_(&store),
      topology_(topology),
      clock_(clock),
      options_(std::move(options)) {
  EROICA_CHECK(clock_ != nullptr);
  EROICA_CHECK(options_.idle_timeout.count() > 0);
}

absl::StatusOr<std::unique_ptr<ReplayRun>> ReplayRun::Open(const ReplayInput& input,
                                                           RecordingLog& log, StateStore& store,
                                                           const Topology& topology,
                                                           ReplayClock* clock,
                                                           ReplayOptions options) {
  std::unique_ptr<ReplayRun> run(
      new ReplayRun(input, log, store, topology, clock, std::move(options)));
  if (absl::Status status = run->Resume(); !status.ok()) return status;
  return run;
}

absl::Status ReplayRun::Resume() {
  const absl::StatusOr<std::optional<ReplayCheckpoint>> loaded = LoadCheckpoint(store_);
  if (!loaded.ok()) return loaded.status();
  const ReplayCheckpoint checkpoint = loaded->value_or(ReplayCheckpoint());
  resumed_ = loaded->has_value();
  finished_ = checkpoint.finished;
  fed_ms_ = checkpoint.fed_ms;
  clock_->AdvanceTo(checkpoint.clock_ms);
  if (finished_) return absl::OkStatus();
  if (absl::Status status = MakeTopics(); !status.ok()) return status;
  for (const auto& [topic, count] : partitions_) {
    for (int32_t i = 0; i < count; ++i) {
      const auto end = checkpoint.ends.find({topic, i});
      if (absl::Status status =
              log_.Truncate({topic, i}, end == checkpoint.ends.end() ? 0 : end->second);
          !status.ok())
        return status;
    }
  }
  if (absl::Status status = OpenEnds(); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<LogProducer>> producer = log_.NewProducer();
  if (!producer.ok()) return producer.status();
  producer_ = *std::move(producer);
  absl::StatusOr<std::unique_ptr<SliceReader>> source =
      SliceReader::Open(input_.slice, checkpoint.read, input_.readers);
  if (!source.ok()) return source.status();
  source_ = *std::move(source);
  if (absl::Status status = StartClock(); !status.ok()) return status;
  return StartStages(checkpoint);
}

// With stamps of arrival each partition has its own silence, so there are as many as in the source.
absl::Status ReplayRun::MakeTopics() {
  for (const Topic topic : kInputs) partitions_[TopicName(options_.topic_prefix, topic)] = 1;
  if (input_.stamped_at_arrival()) {
    for (const auto& [partition, range] : input_.slice.ranges) {
      int32_t& count = partitions_[partition.topic];
      count = std::max(count, partition.partition + 1);
    }
  }
  for (const Topic topic : kOutputs) partitions_[TopicName(options_.topic_prefix, topic)] = 1;
  for (const auto& [topic, count] : partitions_) {
    const absl::Status status =
        log_.admin().CreateTopic({.name = topic, .partitions = count, .config = {}});
    if (!status.ok() && !absl::IsAlreadyExists(status)) return status;
  }
  return absl::OkStatus();
}

absl::Status ReplayRun::OpenEnds() {
  for (const auto& [topic, count] : partitions_) {
    for (int32_t i = 0; i < count; ++i) {
      absl::StatusOr<std::unique_ptr<PartitionReader>> reader = log_.OpenPartition({topic, i});
      if (!reader.ok()) return reader.status();
      ends_[{topic, i}] = *std::move(reader);
    }
  }
  return absl::OkStatus();
}

// Time begins with the first record.
absl::Status ReplayRun::StartClock() {
  if (!input_.stamped_at_arrival() || clock_->now_ms() > 0) return absl::OkStatus();
  const absl::StatusOr<const ConsumerRecord*> first = source_->Next();
  if (!first.ok()) return first.status();
  clock_->AdvanceTo(*first == nullptr ? *input_.until_ms : source_->next_time_ms());
  return absl::OkStatus();
}

// What lies in open windows is read again, without a time in which anything could be late.
absl::Status ReplayRun::StartStages(const ReplayCheckpoint& checkpoint) {
  std::map<TopicPartition, StreamThread::IdleTimer> timers;
  for (const auto& [partition, quiet_ms] : checkpoint.quiet_ms)
    timers[partition] = DecodeQuiet(quiet_ms);
  int depth = 0;
  for (const Stage& stage : topology_.stages()) {
    threads_.push_back(std::make_unique<StreamThread>(
        log_, store_, stage, ThreadOptions(options_, input_.stamped_at_arrival(), ++depth)));
    if (absl::Status status = CatchUp(*threads_.back()); !status.ok()) return status;
    threads_.back()->RestoreIdleTimers(timers, Now());
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ReplayRun::Step() {
  if (finished_) {
    if (absl::Status status = DropInputs(); !status.ok()) return status;
    return false;
  }
  if (CheckpointIsDue()) {
    if (absl::Status status = WriteCheckpoint(ended_); !status.ok()) return status;
    return true;
  }
  const absl::StatusOr<bool> more = input_.stamped_at_arrival() ? FeedUntilTick() : FeedSome();
  if (!more.ok()) return more.status();
  ++steps_;
  ++steps_since_checkpoint_;
  if (absl::Status status = RunStages(); !status.ok()) return status;
  if (*more) return true;
  // The live node saw no end either: what is open stays open.
  if (!input_.stamped_at_arrival()) {
    if (absl::Status status = EndInput(); !status.ok()) return status;
  }
  ended_ = true;
  return true;
}

bool ReplayRun::IsWanted(const ConsumerRecord& record) const {
  if (FindHeader(record.headers, kHeaderStage)) return false;
  return options_.job.empty() || FindHeader(record.headers, kHeaderJob) == options_.job;
}

absl::Status ReplayRun::Feed(ConsumerRecord record) {
  if (!IsWanted(record)) return absl::OkStatus();
  fed_ms_ = std::max(fed_ms_, record.timestamp_ms);
  first_fed_ms_ = std::min(first_fed_ms_.value_or(record.timestamp_ms), record.timestamp_ms);
  ++records_fed_;
  ++records_since_checkpoint_;
  bytes_fed_ += record.value.size();
  bytes_since_checkpoint_ += record.value.size();
  return producer_->Append({.topic = record.topic,
                            .key = std::move(record.key),
                            .value = std::move(record.value),
                            .headers = std::move(record.headers),
                            .timestamp_ms = record.timestamp_ms,
                            .partition = record.partition % partitions_.at(record.topic)});
}

// false: there is nothing more.
absl::StatusOr<bool> ReplayRun::FeedSome() {
  const uint64_t bytes_max = bytes_fed_ + kBytesAtOnce;
  const uint64_t records = std::min(kRecordsAtOnce, options_.checkpoint_records);
  for (uint64_t i = 0; i < records && bytes_fed_ < bytes_max; ++i) {
    const absl::StatusOr<const ConsumerRecord*> next = source_->Next();
    if (!next.ok()) return next.status();
    if (*next == nullptr) return false;
    if (absl::Status status = Feed(source_->Pop()); !status.ok()) return status;
  }
  return true;
}

// Moves the clock on, by a tick or, while nothing comes, to where silence may have an effect; and
// feeds what came until then. false: nothing more comes, and silence has done all that it does.
absl::StatusOr<bool> ReplayRun::FeedUntilTick() {
  const int64_t step_ms = SilenceIsOver() ? kMinuteMs : options_.idle_timeout.count() / 4;
  absl::StatusOr<const ConsumerRecord*> next = source_->Next();
  if (!next.ok()) return next.status();
  if (*next == nullptr) {
    if (SilenceIsOver() || clock_->now_ms() >= *input_.until_ms) return false;
    clock_->AdvanceTo(std::min(clock_->now_ms() + step_ms, *input_.until_ms));
    return true;
  }
  // What came within a tick is fed at its end.
  const int64_t next_ms = source_->next_time_ms();
  const int64_t tick_ms = clock_->now_ms() + kTickMs;
  if (next_ms > clock_->now_ms())
    clock_->AdvanceTo(next_ms <= tick_ms ? tick_ms : std::min(next_ms, clock_->now_ms() + step_ms));
  const uint64_t bytes_max = bytes_fed_ + kBytesAtOnce;
  while (*next != nullptr && source_->next_time_ms() <= clock_->now_ms() &&
         bytes_fed_ < bytes_max) {
    if (absl::Status status = Feed(source_->Pop()); !status.ok()) return status;
    if (next = source_->Next(); !next.ok()) return next.status();
  }
  return true;
}

// Every stage was idle, one after the other, and what it sent then has reached the next.
bool ReplayRun::SilenceIsOver() const {
  int64_t depths = 0;
  for (size_t depth = 1; depth <= threads_.size(); ++depth) depths += static_cast<int64_t>(depth);
  return clock_->now_ms() - fed_ms_ > (depths + 1) * options_.idle_timeout.count();
}

TimePoint ReplayRun::Now() const {
  return TimePoint() +
         (input_.stamped_at_arrival() ? milliseconds(clock_->now_ms()) : milliseconds(2 * steps_));
}

absl::Status ReplayRun::CatchUp(StreamThread& thread) {
  while (true) {
    const absl::StatusOr<bool> caught_up = thread.CaughtUp();
    if (!caught_up.ok()) return caught_up.status();
    if (*caught_up) return absl::OkStatus();
    if (const auto wait = thread.RunOnce(Now()); !wait.ok()) return wait.status();
  }
}

// Each has committed what it was given before the next is asked.
absl::Status ReplayRun::RunStages() {
  for (const std::unique_ptr<StreamThread>& thread : threads_) {
    if (absl::Status status = CatchUp(*thread); !status.ok()) return status;
    if (const auto wait = thread->RunOnce(Now() + kCommitInterval); !wait.ok())
      return wait.status();
  }
  return absl::OkStatus();
}

absl::Status ReplayRun::EndInput() {
  ++steps_;
  for (const std::unique_ptr<StreamThread>& thread : threads_) {
    if (absl::Status status = CatchUp(*thread); !status.ok()) return status;
    if (absl::Status status = thread->EndInput(Now()); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool ReplayRun::CheckpointIsDue() const {
  return ended_ || records_since_checkpoint_ >= options_.checkpoint_records ||
         bytes_since_checkpoint_ >= options_.checkpoint_bytes ||
         steps_since_checkpoint_ >= kStepsOfCheckpoint;
}

absl::Status ReplayRun::WriteCheckpoint(bool finished) {
  if (absl::Status status = producer_->Flush(kFlushTimeout); !status.ok()) return status;
  ReplayCheckpoint checkpoint{.read = source_->positions(),
                              .ends = {},
                              .quiet_ms = {},
                              .clock_ms = clock_->now_ms(),
                              .fed_ms = fed_ms_,
                              .finished = finished};
  for (const auto& [partition, reader] : ends_) {
    const absl::StatusOr<int64_t> end = reader->EndOffset();
    if (!end.ok()) return end.status();
    checkpoint.ends[partition] = *end;
  }
  for (const std::unique_ptr<StreamThread>& thread : threads_) {
    for (const auto& [partition, timer] : thread->idle_timers(Now()))
      checkpoint.quiet_ms[partition] = EncodeQuiet(timer);
  }
  if (absl::Status status = StageCheckpoint(checkpoint, store_); !status.ok()) return status;
  if (absl::Status status = store_.Flush(); !status.ok()) return status;
  records_since_checkpoint_ = 0;
  bytes_since_checkpoint_ = 0;
  steps_since_checkpoint_ = 0;
  finished_ = finished;
  return finished ? absl::OkStatus() : Trim();
}

// Whole segments that no stage reads again, after a restart either.
absl::Status ReplayRun::Trim() {
  for (const Stage& stage : topology_.stages()) {
    const std::string topic = TopicName(options_.topic_prefix, stage.input);
    for (int32_t i = 0; i < partitions_.at(topic); ++i) {
      const TopicPartition partition{topic, i};
      const absl::StatusOr<std::optional<std::string>> row =
          TaskStore(&store_, TaskId{stage.name, partition}.ToString())
              .Get(Table::kPositions, kPositionKey);
      if (!row.ok()) return row.status();
      const std::optional<TaskPosition> position =
          row->has_value() ? DecodePosition(**row) : std::nullopt;
      if (!position) continue;
      if (absl::Status status = log_.DeleteRecords(partition, position->restart); !status.ok())
        return status;
    }
  }
  return absl::OkStatus();
}

absl::Status ReplayRun::DropInputs() {
  for (const auto& thread : threads_) finished_probes_.push_back(thread->probe());
  threads_.clear();
  ends_.clear();
  for (const Topic topic : kInputs) {
    if (absl::Status status = log_.DeleteTopic(TopicName(options_.topic_prefix, topic));
        !status.ok())
      return status;
  }
  return absl::OkStatus();
}

StageProbe ReplayRun::probe(std::string_view stage) const {
  for (size_t i = 0; i < topology_.stages().size(); ++i) {
    if (topology_.stages()[i].name != stage) continue;
    if (i < threads_.size()) return threads_[i]->probe();
    if (i < finished_probes_.size()) return finished_probes_[i];
  }
  return {};
}

}  // namespace eroica
