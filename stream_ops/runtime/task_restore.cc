#include "stream_ops/runtime/task_restore.h"

#include <algorithm>
#include <utility>

#include "schemas/check.h"

namespace eroica {

TaskRestore::TaskRestore(StateStore* store, const TaskId& task) : store_(store, task.ToString()) {}

absl::Status TaskRestore::Begin(int64_t end) {
  absl::StatusOr<std::optional<ChangelogCheckpoint>> checkpoint = ReadCheckpoint(store_);
  if (!checkpoint.ok()) return checkpoint.status();
  checkpoint_ = *checkpoint;
  end_ = end;
  // Beyond the end: the topic was made anew.
  if (!checkpoint_ || checkpoint_->offset > end) {
    ReadFromZero();
  } else {
    next_ = checkpoint_->offset;
    fold_ = ChangelogFold(checkpoint_->writer);
  }
  return absl::OkStatus();
}

void TaskRestore::ReadFromZero() {
  from_zero_ = true;
  next_ = 0;
  fold_ = ChangelogFold();
}

absl::Status TaskRestore::Add(const ConsumerRecord& record) {
  EROICA_CHECK(begun());
  if (record.offset < next_) return absl::OkStatus();
  next_ = std::min(record.offset + 1, end_);
  if (record.offset >= end_) return absl::OkStatus();
  fold_.Add(record);
  if (!from_zero_ && fold_.writer() != checkpoint_->writer) {
    ReadFromZero();
    return absl::OkStatus();
  }
  return Apply();
}

void TaskRestore::SkipTo(int64_t offset) { next_ = std::max(next_, offset); }

absl::StatusOr<std::set<std::string>> TaskRestore::Rows() const {
  std::set<std::string> rows;
  for (const Table table : kChangelogTables) {
    const absl::Status scanned =
        store_.Scan(table, "", [&](std::string_view key, std::string_view) {
          rows.insert(RowName(table, key));
          return true;
        });
    if (!scanned.ok()) return scanned;
  }
  return rows;
}

absl::Status TaskRestore::Apply() {
  const StateChanges committed = fold_.TakeCommitted();
  if (committed.empty()) return absl::OkStatus();
  if (from_zero_ && !cleared_) {
    const absl::StatusOr<std::set<std::string>> rows = Rows();
    if (!rows.ok()) return rows.status();
    StateChanges clear;
    for (const std::string& row : *rows) {
      const auto [table, key] = *ParseRowName(row);
      clear.Delete(table, std::string(key));
    }
    if (const absl::Status status = store_.Write(clear); !status.ok()) return status;
    cleared_ = true;
  }
  return store_.Write(committed);
}

absl::StatusOr<ChangelogOwner> TaskRestore::Finish(uint64_t writer_id) {
  EROICA_CHECK(complete());
  ChangelogOwner owner{.writer = {.epoch = fold_.writer().epoch + 1, .id = writer_id},
                       .unwritten = fold_.Uncommitted()};
  if (checkpoint_) owner.writer.epoch = std::max(owner.writer.epoch, checkpoint_->writer.epoch + 1);
  if (from_zero_ && !fold_.position()) {  // nothing was ever committed to it: what the store has is
    absl::StatusOr<std::set<std::string>> rows = Rows();  // the newest
    if (!rows.ok()) return rows.status();
    owner.unwritten.merge(*rows);
  }
  StateChanges changes;
  changes.Put(Table::kPositions, std::string(kCheckpointKey),
              EncodeCheckpoint({.offset = end_, .writer = owner.writer}));
  if (fold_.position())
    changes.Put(Table::kPositions, std::string(kPositionKey), EncodePosition(*fold_.position()));
  if (const absl::Status status = store_.Write(changes); !status.ok()) return status;
  return owner;
}

}  // namespace eroica
