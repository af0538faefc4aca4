#include "state_store/in_memory_store.h"

namespace eroica {

absl::StatusOr<std::optional<std::string>> InMemoryStore::Get(Table table,
                                                              std::string_view key) const {
  const ReaderLock lock(mutex_);
  const Rows& rows = RowsOf(table);
  const auto row = rows.find(key);
  if (row == rows.end()) return std::optional<std::string>();
  return std::optional(row->second);
}

absl::Status InMemoryStore::Scan(Table table, std::string_view prefix, const Visitor& visit) const {
  const ReaderLock lock(mutex_);
  const Rows& rows = RowsOf(table);
  for (auto row = rows.lower_bound(prefix); row != rows.end() && row->first.starts_with(prefix);
       ++row) {
    if (!visit(row->first, row->second)) break;
  }
  return absl::OkStatus();
}

absl::Status InMemoryStore::Write(const StateChanges& changes) {
  const WriterLock lock(mutex_);
  for (const StateChanges::Change& change : changes.changes()) {
    Rows& rows = RowsOf(change.table);
    switch (change.kind) {
      case StateChanges::Change::Kind::kPut: rows.insert_or_assign(change.key, change.value); break;
      case StateChanges::Change::Kind::kDelete: rows.erase(change.key); break;
      case StateChanges::Change::Kind::kDeleteRange:
        EraseRange(change.key, change.value, &rows);
        break;
    }
  }
  return absl::OkStatus();
}

void InMemoryStore::EraseRange(std::string_view begin, std::string_view end, Rows* rows) {
  if (begin >= end) return;
  rows->erase(rows->lower_bound(begin), rows->lower_bound(end));
}

}  // namespace eroica
