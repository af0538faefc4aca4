#include "stream_ops/runtime/stream_task.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "schemas/check.h"

namespace eroica {
StreamTask::StreamTask(TaskId id, StreamTaskOptions options, std::unique_ptr<Processor> processor,
                       StateStore& store, StageProbe* probe)
    : id_(std::move(id)),
      options_(std::move(options)),
      node_store_(store),
      store_(&store, id_.ToString()),
      probe_(probe),
      processor_(std::move(processor)) {
  EROICA_CHECK(processor_ != nullptr && probe_ != nullptr);
  for (int i = 0; i < kTopicCount; ++i) {
    topic_names_[static_cast<size_t>(i)] = TopicName(options_.topic_prefix, static_cast<Topic>(i));
  }
}

void StreamTask::KeepChangelog(ChangelogOwner owner, size_t record_bytes_max) {
  owner_ = std::move(owner);
  changelog_.emplace(ChangelogTopic(options_.topic_prefix, id_.stage), id_.partition.partition,
                     owner_.writer, record_bytes_max);
}

absl::Status StreamTask::Init() {
  const absl::StatusOr<std::optional<std::string>> value =
      store_.Get(Table::kPositions, kPositionKey);
  if (!value.ok()) return value.status();
  if (value->has_value()) {
    committed_ = DecodePosition(**value);
    if (!committed_)
      return absl::DataLossError(
          fmt::format("the store's position of task {} is not one of ours", id_.ToString()));
    next_ = committed_->restart;
    dirty_ = changelog_.has_value();  // a successor must be heard before its predecessor wakes up
  }
  return processor_->Init(*this);
}

absl::Status StreamTask::BeginAnew(std::unique_ptr<Processor> processor, int64_t offset) {
  EROICA_CHECK(outbox_.empty() && to_store_.empty() && changes_.empty());
  committed_ = TaskPosition{offset, offset};
  first_ = next_ = offset;
  changes_.Put(Table::kPositions, std::string(kPositionKey), EncodePosition(*committed_));
  dirty_ = true;
  processor_ = std::move(processor);
  return processor_->Init(*this);
}

absl::Status StreamTask::Unload(std::unique_ptr<Processor> processor) {
  EROICA_CHECK(outbox_.empty() && to_store_.empty() && changes_.empty() && committed_);
  next_ = committed_->restart;
  // The former one goes last: what it shows of its jobs stays, and is the new one's.
  const std::unique_ptr<Processor> former = std::exchange(processor_, std::move(processor));
  return processor_->Init(*this);
}

bool StreamTask::IsRepeated() const {
  return current_ != nullptr && committed_ && current_->offset < committed_->processed;
}

std::optional<int64_t> StreamTask::restart_offset() const {
  if (committed_) return committed_->restart;
  return first_;
}

absl::Status StreamTask::Process(const ConsumerRecord& record) {
  EROICA_CHECK(record.topic == id_.partition.topic && record.partition == id_.partition.partition);
  if (next_ && record.offset < *next_) {
    ++probe_->records_ignored;
    return absl::OkStatus();
  }
  if (!first_) first_ = record.offset;
  current_ = &record;
  dirty_ = true;
  const absl::Status status = processor_->Process(record);
  current_ = nullptr;
  if (!status.ok()) {
    return absl::Status(status.code(), fmt::format("task {} at offset {}: {}", id_.ToString(),
                                                   record.offset, std::string(status.message())));
  }
  next_ = record.offset + 1;
  latest_ms_ = record.timestamp_ms;
  ++probe_->records_processed;
  return absl::OkStatus();
}

void StreamTask::Skip(const DamagedRange& range) {
  EROICA_CHECK(range.partition == id_.partition && range.begin < range.end);
  const int64_t begin = std::max(range.begin, next_.value_or(0));
  if (begin >= range.end) return;
  if (!first_) first_ = begin;
  next_ = range.end;
  dirty_ = true;
  if (committed_ && range.end <= committed_->processed) {
    ++probe_->dead_letters_replayed;
    return;
  }
  ++probe_->dead_letters[DropReason::kUnreadable];
  probe_->records_unreadable += static_cast<uint64_t>(range.end - begin);
  ProducerRecord letter;
  letter.topic = topic_names_[static_cast<size_t>(Topic::kDeadLetter)];
  letter.timestamp_ms = latest_ms_;
  AddDeadLetterHeaders(DropReason::kUnreadable, begin, &letter);
  letter.headers.emplace_back(kHeaderDeadLetterEnd, std::to_string(range.end));
  letter.headers.emplace_back(kHeaderDeadLetterDetail, range.reason);
  letter.headers.emplace_back(kHeaderDeadLetterCut, "0");  // there is nothing to send back
  Send(std::move(letter), 0);
}

absl::Status StreamTask::Punctuate(PunctuationType type) {
  const absl::Status status = processor_->Punctuate(type);
  if (!status.ok())
    return absl::Status(status.code(),
                        fmt::format("task {}: {}", id_.ToString(), std::string(status.message())));
  dirty_ = dirty_ || !changes_.empty() || !outbox_.empty();
  return absl::OkStatus();
}

absl::Status StreamTask::SendOutputs(LogProducer& producer) {
  size_t sent = 0;
  absl::Status status;
  for (; status.ok() && sent < outbox_.size(); sent += status.ok() ? 1 : 0)
    status = SendOne(outbox_[sent], producer);
  outbox_.erase(outbox_.begin(), outbox_.begin() + static_cast<std::ptrdiff_t>(sent));
  return status;
}

// Ok: the record needs no more, be it that it was dropped.
absl::Status StreamTask::SendOne(Output& output, LogProducer& producer) {
  const size_t bytes_max = producer.record_bytes_max();
  if (output.own_headers && RecordBytes(output.record) > bytes_max) {
    Cut(bytes_max, &output);
    ++probe_->dead_letters_cut;
  }
  if (RecordBytes(output.record) > bytes_max) {
    CountDropped(DropReason::kLimitExceeded, 1);
    return absl::OkStatus();
  }
  absl::Status status = producer.Append(output.record);  // a copy: it may have to stay
  while (status.code() == absl::StatusCode::kInvalidArgument && CountRefused(producer))
    status = producer.Append(output.record);
  if (status.code() == absl::StatusCode::kInvalidArgument) {
    CountDropped(DropReason::kLimitExceeded, 1);
    return absl::OkStatus();
  }
  if (!status.ok()) return status;
  if (output.of_changelog) {
    ++probe_->changelog_records;
    probe_->changelog_bytes += output.record.value.size();
    return absl::OkStatus();
  }
  ++probe_->records_emitted;
  probe_->bytes_emitted += output.record.value.size();
  return absl::OkStatus();
}

bool StreamTask::CountRefused(LogProducer& producer) {
  const std::map<DropReason, uint64_t> refused = producer.TakeRefused();
  for (const auto& [reason, count] : refused) CountDropped(reason, count);
  return !refused.empty();
}

absl::Status StreamTask::BeginCommit(std::optional<int64_t> changelog_end) {
  EROICA_CHECK(outbox_.empty() && to_store_.empty());
  if (!changelog_ || !next_) return absl::OkStatus();
  if (const absl::Status status = AddChangedRows(); !status.ok()) return status;
  const std::optional<int64_t> checkpoint =
      in_changelog_ ? changelog_end : std::optional(owner_.begin);
  if (checkpoint)
    changes_.Put(Table::kPositions, std::string(kCheckpointKey),
                 EncodeCheckpoint({.offset = *checkpoint, .writer = owner_.writer}));
  CollectCommit();
  return absl::OkStatus();
}

// The last value of each row that this cycle has changed, and what former owners left unwritten.
absl::Status StreamTask::AddChangedRows() {
  std::map<std::string, std::optional<std::string>> rows;
  for (const StateChanges::Change& change : changes_.changes()) {
    if (change.table == Table::kPositions) continue;
    EROICA_CHECK(change.kind != StateChanges::Change::Kind::kDeleteRange);
    const bool put = change.kind == StateChanges::Change::Kind::kPut;
    rows[RowName(change.table, change.key)] = put ? std::optional(change.value) : std::nullopt;
  }
  for (const std::string& row : owner_.unwritten) {
    if (rows.contains(row)) continue;
    const auto [table, key] = *ParseRowName(row);
    absl::StatusOr<std::optional<std::string>> value = store_.Get(table, key);
    if (!value.ok()) return value.status();
    rows[row] = *std::move(value);
  }
  for (const auto& [row, value] : rows) {
    if (const absl::Status status = AddRow(row, value); !status.ok()) {
      outbox_.clear();
      return status;
    }
  }
  owner_.unwritten.clear();
  return absl::OkStatus();
}

absl::Status StreamTask::AddRow(const std::string& row, const std::optional<std::string>& value) {
  const auto [table, key] = *ParseRowName(row);
  const absl::StatusOr<std::optional<std::string>> former = store_.Get(table, key);
  if (!former.ok()) return former.status();
  const size_t former_bytes = former->has_value() ? std::max<size_t>((*former)->size(), 1) : 0;
  std::vector<ProducerRecord> records;
  if (value) {
    changelog_->Put(row, *value, former_bytes, &records);
  } else {
    changelog_->Delete(row, former_bytes, &records);
  }
  for (ProducerRecord& record : records)
    outbox_.push_back({std::move(record), std::nullopt, /*of_changelog=*/true});
  return absl::OkStatus();
}

void StreamTask::ConfirmCommit() {
  if (!changelog_ || !committed_ || (to_store_.empty() && in_changelog_)) return;
  outbox_.push_back({changelog_->Committed(*committed_), std::nullopt, /*of_changelog=*/true});
  in_changelog_ = true;
}

absl::Status StreamTask::Commit() {
  EROICA_CHECK(outbox_.empty());
  if (to_store_.empty() && !(changelog_ && next_)) CollectCommit();
  if (to_store_.empty()) return absl::OkStatus();
  const absl::Status status = node_store_.Write(to_store_);
  if (status.ok()) to_store_.clear();
  return status;
}

void StreamTask::CollectCommit() {
  dirty_ = false;
  if (next_) {
    const int64_t restart = processor_->RestartOffset(*next_);
    EROICA_CHECK(restart >= 0 && restart <= *next_);
    // While records come again after a restart, what was processed before stays processed.
    const TaskPosition position{restart, std::max(*next_, committed_ ? committed_->processed : 0)};
    if (committed_ != position)
      changes_.Put(Table::kPositions, std::string(kPositionKey), EncodePosition(position));
    committed_ = position;
  }
  to_store_ = store_.Scoped(std::exchange(changes_, {}));
}

void StreamTask::Forward(Topic topic, std::string key, PayloadType type, Bytes payload,
                         int64_t timestamp_ms, const JobId& job) {
  ProducerRecord record;
  record.topic = topic_names_[static_cast<size_t>(topic)];
  record.key = std::move(key);
  record.value.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
  record.headers.emplace_back(kHeaderSchema, SchemaId(type));
  record.headers.emplace_back(kHeaderJob, job.value);
  record.headers.emplace_back(kHeaderStage, id_.stage);
  record.timestamp_ms = timestamp_ms;
  Send(std::move(record));
}

void StreamTask::ForwardEvent(EventRecord event) {
  Send({.topic = topic_names_[static_cast<size_t>(event.topic)],
        .key = std::move(event.key),
        .value = std::move(event.value),
        .headers = std::move(event.headers),
        .timestamp_ms = event.timestamp_ms,
        .partition = std::nullopt});
}

void StreamTask::DeadLetter(DropReason reason) {
  EROICA_CHECK(current_ != nullptr);  // only a record that is being processed can be a dead letter
  if (IsRepeated()) {
    ++probe_->dead_letters_replayed;
    return;
  }
  ++probe_->dead_letters[reason];
  ProducerRecord record;
  record.topic = topic_names_[static_cast<size_t>(Topic::kDeadLetter)];
  record.key = current_->key;
  record.value = current_->value;
  record.timestamp_ms = current_->timestamp_ms;
  record.headers = current_->headers;
  AddDeadLetterHeaders(reason, current_->offset, &record);
  Send(std::move(record), current_->headers.size());
}

void StreamTask::AddDeadLetterHeaders(DropReason reason, int64_t offset,
                                      ProducerRecord* letter) const {
  letter->headers.emplace_back(kHeaderDeadLetterReason, eroica::ToString(reason));
  letter->headers.emplace_back(kHeaderDeadLetterStage, id_.stage);
  letter->headers.emplace_back(kHeaderDeadLetterTopic, id_.partition.topic);
  letter->headers.emplace_back(kHeaderDeadLetterPartition, std::to_string(id_.partition.partition));
  letter->headers.emplace_back(kHeaderDeadLetterOffset, std::to_string(offset));
}

void StreamTask::Send(ProducerRecord record, std::optional<size_t> own_headers) {
  if (!options_.replay_id.empty()) record.headers.emplace_back(kHeaderReplay, options_.replay_id);
  outbox_.push_back({std::move(record), own_headers});
}

void StreamTask::Cut(size_t bytes_max, Output* dead_letter) {
  ProducerRecord& record = dead_letter->record;
  const std::string value = std::exchange(record.value, {});
  record.headers.emplace_back(kHeaderDeadLetterCut, std::to_string(value.size()));
  if (RecordBytes(record) > bytes_max) {
    const auto own =
        static_cast<std::ptrdiff_t>(std::exchange(dead_letter->own_headers, 0).value());
    record.headers.erase(record.headers.begin(), record.headers.begin() + own);
  }
  if (RecordBytes(record) > bytes_max) record.key.clear();
  const size_t without_value = RecordBytes(record);
  if (without_value < bytes_max) record.value = value.substr(0, bytes_max - without_value);
}

// The log hears of each reason once.
void StreamTask::CountDropped(DropReason reason, uint64_t count) {
  uint64_t& dropped = probe_->outputs_dropped[reason];
  if (dropped == 0) {
    spdlog::warn("stage={} partition={} dropped an output reason={}; further ones are counted",
                 id_.stage, id_.partition.partition, eroica::ToString(reason));
  }
  dropped += count;
}

}  // namespace eroica
