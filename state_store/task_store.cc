#include "state_store/task_store.h"

#include <utility>

#include "schemas/check.h"
#include "state_store/key_schema.h"

namespace eroica {
namespace {

constexpr bool IsTaskScoped(Table table) {
  return table == Table::kProgress || table == Table::kPositions;
}

}  // namespace

TaskStore::TaskStore(StateStore* store, std::string_view task)
    : store_(store), prefix_(EncodeTaskPrefix(task)) {
  EROICA_CHECK(store != nullptr);
}

std::string TaskStore::Scoped(Table table, std::string_view key) const {
  std::string scoped = IsTaskScoped(table) ? prefix_ : std::string();
  scoped.append(key);
  return scoped;
}

absl::StatusOr<std::optional<std::string>> TaskStore::Get(Table table, std::string_view key) const {
  return store_->Get(table, Scoped(table, key));
}

absl::Status TaskStore::Scan(Table table, std::string_view prefix, const Visitor& visit) const {
  const size_t hidden = IsTaskScoped(table) ? prefix_.size() : 0;
  return store_->Scan(table, Scoped(table, prefix),
                      [&](std::string_view key, std::string_view value) {
                        return visit(key.substr(hidden), value);
                      });
}

absl::Status TaskStore::Write(const StateChanges& changes) {
  return store_->Write(Scoped(changes));
}

StateChanges TaskStore::Scoped(StateChanges changes) const {
  changes.PrefixKeys(Table::kProgress, prefix_);
  changes.PrefixKeys(Table::kPositions, prefix_);
  return changes;
}

}  // namespace eroica
