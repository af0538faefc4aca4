#include "stream_ops/runtime/changelog_restorer.h"

#include <spdlog/spdlog.h>

namespace eroica {
namespace {

constexpr size_t kStepRecords = 2'000;
// Longer than a broker takes to abort the transaction of an owner that has died.
constexpr std::chrono::seconds kStalledAfter{30};

absl::StatusOr<LogConsumer*> OpenOnce(Log& log, const ConsumerOptions& options,
                                      std::unique_ptr<LogConsumer>* consumer) {
  if (*consumer == nullptr) {
    absl::StatusOr<std::unique_ptr<LogConsumer>> opened = log.NewConsumer(options);
    if (!opened.ok()) return opened.status();
    *consumer = *std::move(opened);
  }
  return consumer->get();
}

}  // namespace

ChangelogRestorer::ChangelogRestorer(Log& log, StateStore& store, std::string stage,
                                     std::string topic, uint64_t writer_id)
    : log_(log),
      store_(store),
      stage_(std::move(stage)),
      topic_(std::move(topic)),
      writer_id_(writer_id) {}

void ChangelogRestorer::Start(const TopicPartition& input) {
  restores_.erase(input);
  restores_.emplace(input, TaskRestore(&store_, TaskId{stage_, input}));
  assigned_.erase(ChangelogOf(input));
  seen_.clear();
}

absl::StatusOr<LogConsumer*> ChangelogRestorer::Reader() { return OpenOnce(log_, {}, &reader_); }

absl::StatusOr<LogConsumer*> ChangelogRestorer::EndReader() {
  return OpenOnce(log_, {.read_uncommitted = true}, &end_reader_);
}

absl::StatusOr<int64_t> ChangelogRestorer::CommittedEnd(int32_t partition) {
  const absl::StatusOr<LogConsumer*> reader = Reader();
  return reader.ok() ? (*reader)->EndOffset({topic_, partition}) : reader.status();
}

absl::Status ChangelogRestorer::BeginAll() {
  const absl::StatusOr<LogConsumer*> reader = EndReader();
  if (!reader.ok()) return reader.status();
  for (auto& [input, restore] : restores_) {
    if (restore.begun()) continue;
    const absl::StatusOr<int64_t> end = (*reader)->EndOffset(ChangelogOf(input));
    if (!end.ok()) return end.status();
    if (const absl::Status status = restore.Begin(*end); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<ChangelogRestorer::Restored> ChangelogRestorer::Step(
    TimePoint now, std::chrono::milliseconds timeout) {
  if (restores_.empty()) return StopReading();
  if (const absl::Status status = BeginAll(); !status.ok()) return status;
  absl::StatusOr<Restored> restored = FinishComplete();
  if (!restored.ok() || !restored->empty()) return restored;
  const absl::StatusOr<LogConsumer*> reader = Reader();
  if (!reader.ok()) return reader.status();
  if (const absl::Status status = Assign(); !status.ok()) return status;
  std::vector<ConsumerRecord> records;
  if (const absl::Status status = reader_->Poll(timeout, kStepRecords, &records); !status.ok())
    return status;
  for (const DamagedRange& range : reader_->TakeDamaged()) {
    records_unreadable_ += static_cast<uint64_t>(range.end - range.begin);
    spdlog::warn(
        "stage={} partition={} a part of the changelog cannot be read: rows that stood "
        "there are as they were before first={} last={}",
        stage_, range.partition.partition, range.begin, range.end - 1);
  }
  if (const absl::Status status = Take(records); !status.ok()) {
    assigned_.clear();  // what was not taken is read again
    return status;
  }
  if (const absl::Status status = FollowPositions(); !status.ok()) return status;
  if (const absl::Status status = ReopenStalledReader(now); !status.ok()) return status;
  return FinishComplete();
}

absl::Status ChangelogRestorer::ReopenStalledReader(TimePoint now) {
  std::map<TopicPartition, int64_t> next;
  for (const auto& [input, restore] : restores_) next[input] = restore.next();
  if (next != seen_) {
    seen_ = std::move(next);
    moved_at_ = now;
    return absl::OkStatus();
  }
  if (now - moved_at_ < kStalledAfter) return absl::OkStatus();
  moved_at_ = now;
  for (const auto& [input, restore] : restores_) {
    if (restore.complete()) continue;
    const absl::StatusOr<int64_t> committed = CommittedEnd(input.partition);
    if (!committed.ok()) return committed.status();
    spdlog::warn("stage={} partition={} restoring stands still at={} committed_end={} end={}: {}",
                 stage_, input.partition, restore.next(), *committed, restore.end(),
                 *committed > restore.next()
                     ? "the changelog is read anew"
                     : "a transaction is open in the changelog, and the broker does not abort it");
  }
  reader_.reset();
  reading_ = false;
  assigned_.clear();
  return absl::OkStatus();
}

// Where the set of changelogs, or where one of them is read from, is no longer what is assigned.
absl::Status ChangelogRestorer::Assign() {
  std::map<TopicPartition, int64_t> wanted;
  bool changed = restores_.size() != assigned_.size();
  for (const auto& [input, restore] : restores_) {
    const TopicPartition changelog = ChangelogOf(input);
    const auto assigned = assigned_.find(changelog);
    changed = changed || assigned == assigned_.end() || restore.next() < assigned->second;
    wanted[changelog] = restore.next();
  }
  if (!changed) return absl::OkStatus();
  reading_ = true;
  const absl::Status status = reader_->Assign(wanted);
  if (status.ok()) assigned_ = std::move(wanted);
  return status;
}

absl::Status ChangelogRestorer::Take(const std::vector<ConsumerRecord>& records) {
  std::map<int32_t, TaskRestore*> by_partition;
  for (auto& [input, restore] : restores_) by_partition[input.partition] = &restore;
  records_read_ += records.size();
  for (const ConsumerRecord& record : records) {
    const TopicPartition changelog{record.topic, record.partition};
    const auto restore = by_partition.find(record.partition);
    if (restore == by_partition.end() || !assigned_.contains(changelog)) continue;
    if (record.offset < restore->second->next()) continue;
    if (const absl::Status status = restore->second->Add(record); !status.ok()) return status;
    const bool went_back = restore->second->next() <= record.offset && !restore->second->complete();
    if (went_back) assigned_.erase(changelog);  // what follows here is read again, from there
  }
  return absl::OkStatus();
}

// Past what is at no offset: the markers of transactions, and what a compaction has removed.
absl::Status ChangelogRestorer::FollowPositions() {
  for (auto& [input, restore] : restores_) {
    const TopicPartition changelog = ChangelogOf(input);
    if (!assigned_.contains(changelog)) continue;
    const absl::StatusOr<int64_t> position = reader_->Position(changelog);
    if (!position.ok()) return position.status();
    restore.SkipTo(*position);
  }
  return absl::OkStatus();
}

// Else the log would go on fetching what the tasks themselves write now. The reader of ends, which
// nobody polls, is opened again when it is needed.
absl::StatusOr<ChangelogRestorer::Restored> ChangelogRestorer::StopReading() {
  if (!reading_) return Restored();
  if (const absl::Status status = reader_->Assign({}); !status.ok()) return status;
  end_reader_.reset();
  reading_ = false;
  assigned_.clear();
  return Restored();
}

absl::StatusOr<ChangelogRestorer::Restored> ChangelogRestorer::FinishComplete() {
  Restored restored;
  for (auto restore = restores_.begin(); restore != restores_.end();) {
    if (!restore->second.complete()) {
      ++restore;
      continue;
    }
    absl::StatusOr<ChangelogOwner> owner = restore->second.Finish(writer_id_);
    if (!owner.ok() && restored.empty()) return owner.status();
    if (!owner.ok()) break;  // the next step meets it again: these are handed over first
    restored.emplace_back(restore->first, *std::move(owner));
    restore = restores_.erase(restore);
  }
  return restored;
}

}  // namespace eroica
