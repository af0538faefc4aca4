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
  to_store_.clear();
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

// What could not be written is written by the next call, before anything else.
absl::Status TaskRestore::Apply() {
  do {
    if (to_store_.empty()) to_store_ = fold_.TakeCommitted();
    if (to_store_.empty()) return absl::OkStatus();
    if (const absl::Status status = Clear(); !status.ok()) return status;
    if (const absl::Status status = store_.Write(to_store_); !status.ok()) return status;
    to_store_.clear();
  } while (true);
}

// Of the rows that the store had, before the first of the changelog.
absl::Status TaskRestore::Clear() {
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
  return absl::OkStatus();
}

absl::StatusOr<ChangelogOwner> TaskRestore::Finish(uint64_t writer_id) {
  EROICA_CHECK(complete());
  if (const absl::Status status = Apply(); !status.ok()) return status;
  ChangelogOwner owner{.writer = {.epoch = fold_.writer().epoch + 1, .id = writer_id},
                       .begin = end_,
                       .unwritten = fold_.Uncommitted()};
  if (checkpoint_) owner.writer.epoch = std::max(owner.writer.epoch, checkpoint_->writer.epoch + 1);
  if (from_zero_ && !fold_.position()) {  // nothing was ever committed to it: what the store has is
    absl::StatusOr<std::set<std::string>> rows = Rows();  // the newest
    if (!rows.ok()) return rows.status();
    owner.unwritten.merge(*rows);
  }
  StateChanges changes;
  // Of whom the changelog has heard: the new owner is none of them before its first commit.
  const ChangelogWriter heard = fold_.writer();
  if (heard.epoch > 0)
    changes.Put(Table::kPositions, std::string(kCheckpointKey),
                EncodeCheckpoint({.offset = end_, .writer = heard}));
  else
    changes.Delete(Table::kPositions, std::string(kCheckpointKey));
  if (fold_.position())
    changes.Put(Table::kPositions, std::string(kPositionKey), EncodePosition(*fold_.position()));
  if (const absl::Status status = store_.Write(changes); !status.ok()) return status;
  return owner;
}

}  // namespace eroica
