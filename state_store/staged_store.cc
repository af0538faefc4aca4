#include "state_store/staged_store.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace eroica {
namespace {

std::string_view CommonPrefix(std::string_view a, std::string_view b) {
  const auto [end, ignored] = std::ranges::mismatch(a, b);
  return a.substr(0, static_cast<size_t>(end - a.begin()));
}

}  // namespace

absl::StatusOr<std::optional<std::string>> StagedStore::Get(Table table,
                                                            std::string_view key) const {
  const MutexLock lock(mutex_);
  const Rows& rows = RowsOf(table);
  const auto row = rows.find(key);
  return row == rows.end() ? store_->Get(table, key) : row->second;
}

absl::Status StagedStore::Scan(Table table, std::string_view prefix, const Visitor& visit) const {
  const MutexLock lock(mutex_);
  const Rows& rows = RowsOf(table);
  auto staged = rows.lower_bound(prefix);
  const auto more = [&] { return staged != rows.end() && staged->first.starts_with(prefix); };
  bool go_on = true;
  const auto visit_staged = [&] {
    if (staged->second) go_on = visit(staged->first, *staged->second);
    ++staged;
  };
  const absl::Status status =
      store_->Scan(table, prefix, [&](std::string_view key, std::string_view value) {
        while (go_on && more() && staged->first < key) visit_staged();
        if (!go_on) return false;
        if (more() && staged->first == key) {
          visit_staged();
        } else {
          go_on = visit(key, value);
        }
        return go_on;
      });
  while (status.ok() && go_on && more()) visit_staged();
  return status;
}

absl::Status StagedStore::Write(const StateChanges& changes) {
  const MutexLock lock(mutex_);
  for (const StateChanges::Change& change : changes.changes()) {
    switch (change.kind) {
      case StateChanges::Change::Kind::kPut:
        RowsOf(change.table).insert_or_assign(change.key, change.value);
        break;
      case StateChanges::Change::Kind::kDelete:
        RowsOf(change.table).insert_or_assign(change.key, std::nullopt);
        break;
      case StateChanges::Change::Kind::kDeleteRange:
        if (absl::Status status = StageRange(change); !status.ok()) return status;
        break;
    }
  }
  return absl::OkStatus();
}

absl::Status StagedStore::StageRange(const StateChanges::Change& range) {
  const std::string_view begin = range.key;
  const std::string_view end = range.value;
  if (begin >= end) return absl::OkStatus();
  std::vector<std::string> keys;
  const absl::Status status = store_->Scan(range.table, CommonPrefix(begin, end),
                                           [&](std::string_view key, std::string_view) {
                                             if (key >= begin && key < end) keys.emplace_back(key);
                                             return key < end;
                                           });
  if (!status.ok()) return status;
  Rows& rows = RowsOf(range.table);
  for (auto row = rows.lower_bound(begin); row != rows.end() && row->first < end; ++row)
    row->second = std::nullopt;
  for (std::string& key : keys) rows.insert_or_assign(std::move(key), std::nullopt);
  return absl::OkStatus();
}

absl::Status StagedStore::Flush() {
  const MutexLock lock(mutex_);
  StateChanges changes;
  for (int i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    for (const auto& [key, value] : RowsOf(table)) {
      if (value) {
        changes.Put(table, key, *value);
      } else {
        changes.Delete(table, key);
      }
    }
  }
  if (changes.empty()) return absl::OkStatus();
  if (absl::Status status = store_->Write(changes); !status.ok()) return status;
  for (Rows& rows : tables_) rows.clear();
  return absl::OkStatus();
}

}  // namespace eroica
