#include "state_store/task_store.h"

#include <utility>

#include "schemas/check.h"
#include "state_store/key_schema.h"

namespace eroica {
TaskStore::TaskStore(StateStore* store, std::string_view task)
    : store_(store), prefix_(EncodeTaskPrefix(task)) {
  EROICA_CHECK(store != nullptr);
}

std::string TaskStore::Scoped(std::string_view key) const {
  std::string scoped = prefix_;
  scoped.append(key);
  return scoped;
}

absl::StatusOr<std::optional<std::string>> TaskStore::Get(Table table, std::string_view key) const {
  return store_->Get(table, Scoped(key));
}

absl::Status TaskStore::Scan(Table table, std::string_view prefix, const Visitor& visit) const {
  return store_->Scan(table, Scoped(prefix), [&](std::string_view key, std::string_view value) {
    return visit(key.substr(prefix_.size()), value);
  });
}

absl::Status TaskStore::Write(const StateChanges& changes) {
  return store_->Write(Scoped(changes));
}

StateChanges TaskStore::Scoped(StateChanges changes) const {
  changes.PrefixKeys(prefix_);
  return changes;
}

}  // namespace eroica
