// A task's view of the node's store: the task sees and writes only what is its own, under keys
// without the task's prefix. Owner: the task; must not outlive the store.
#pragma once

#include <string>
#include <string_view>

#include "state_store/state_store.h"

namespace eroica {

class TaskStore : public StateStore {
 public:
  // task: stable over restarts and moves, e.g. "align-3".
  TaskStore(StateStore* store, std::string_view task);

  absl::StatusOr<std::optional<std::string>> Get(Table table, std::string_view key) const override;
  absl::Status Scan(Table table, std::string_view prefix, const Visitor& visit) const override;
  absl::Status Write(const StateChanges& changes) override;

  // The changes as the whole store must see them: what Write does first. For a caller that collects
  // the changes of several tasks, or moves large ones.
  StateChanges Scoped(StateChanges changes) const;

 private:
  std::string Scoped(std::string_view key) const;

  StateStore* store_;
  std::string prefix_;
};

}  // namespace eroica
