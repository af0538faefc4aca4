// Reads a task's changelog, record by record in the order of offsets, and says which rows hold.
// Pure: knows no log and no store. See changelog.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "state_store/state_store.h"
#include "stream_ops/runtime/changelog.h"

namespace eroica {

class ChangelogFold {
 public:
  // known: the newest owner of which nothing is read any more.
  explicit ChangelogFold(ChangelogWriter known = {}) : writer_(known) {}

  void Add(const ConsumerRecord& record);

  // What was committed since this was last asked, keys without the task's prefix. Applied in order
  // it makes the task's rows.
  StateChanges TakeCommitted() { return std::exchange(committed_, {}); }
  // Of the newest commit.
  std::optional<TaskPosition> position() const { return position_; }
  // The newest owner. Whoever comes next has a higher epoch.
  ChangelogWriter writer() const { return writer_; }
  // Names of rows that owners wrote and did not commit. The next owner writes them as they are.
  std::set<std::string> Uncommitted() const;

  // Records of owners that had a successor already, and records that are none of ours.
  uint64_t ignored() const { return ignored_; }

 private:
  struct Row {
    std::map<uint16_t, std::string> chunks;
    uint16_t count = 0;  // of chunk 0; 0: deleted
    bool has_first = false;
  };

  void AddRow(const ChangelogEntry& entry);
  void Commit();

  ChangelogWriter writer_;
  std::optional<TaskPosition> position_;
  std::map<std::string, Row> rows_;  // of the open commit
  std::set<std::string> abandoned_;  // of commits that no owner finished
  StateChanges committed_;
  uint64_t ignored_ = 0;
};

}  // namespace eroica
