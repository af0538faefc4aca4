// Brings the rows of one task in the store of this node up to its changelog, as the task comes to
// the node. Is given the records; reads no log itself (changelog_restorer.h).
//
// A store that has the task's rows needs only what was written since; where another node has owned
// the task in between, its rows are removed and rebuilt from the whole changelog, which may no
// longer say which of them were deleted meanwhile. A changelog in which nothing was committed yet
// (of a store that had none) is filled by the owner's first commit.
//
// A crash in between loses nothing: the checkpoint and the position change only with the end.
// Owner: one StreamThread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "state_store/task_store.h"
#include "stream_ops/runtime/changelog_checkpoint.h"
#include "stream_ops/runtime/changelog_fold.h"
#include "stream_ops/runtime/task_position.h"

namespace eroica {

// How a task's new owner goes on with the changelog.
struct ChangelogOwner {
  ChangelogWriter writer;
  int64_t begin = 0;  // the end of the changelog when it became the owner
  // Names of rows that its first commit writes as the store has them.
  std::set<std::string> unwritten;
};

class TaskRestore {
 public:
  // store: the node's; must outlive it.
  TaskRestore(StateStore* store, const TaskId& task);

  // end: of the changelog, now. Before all below.
  absl::Status Begin(int64_t end);
  bool begun() const { return end_ >= 0; }
  // The offset that is read next. Goes back to 0 when the whole changelog turns out to be needed.
  int64_t next() const { return next_; }
  int64_t end() const { return end_; }  // -1 before Begin
  bool complete() const { return begun() && next_ >= end_; }

  // In the order of offsets, from next() on.
  absl::Status Add(const ConsumerRecord& record);
  // Nothing lies between next() and this offset: what a transaction leaves behind, or a compaction.
  void SkipTo(int64_t offset);
  // writer_id: of the thread that owns the task from now on. Once, when complete.
  absl::StatusOr<ChangelogOwner> Finish(uint64_t writer_id);

 private:
  void ReadFromZero();
  absl::Status Apply();
  absl::Status Clear();
  absl::StatusOr<std::set<std::string>> Rows() const;

  TaskStore store_;
  std::optional<ChangelogCheckpoint> checkpoint_;  // of the store
  ChangelogFold fold_;
  StateChanges to_store_;  // committed rows that the store has not taken yet
  int64_t next_ = 0;
  int64_t end_ = -1;
  bool from_zero_ = false;
  bool cleared_ = false;  // of the rows that the store had
};

}  // namespace eroica
