// The store of bounded runs and tests: sorted maps, gone with the process.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "state_store/state_store.h"

namespace eroica {

class InMemoryStore : public StateStore {
 public:
  absl::StatusOr<std::optional<std::string>> Get(Table table, std::string_view key) const override;
  absl::Status Scan(Table table, std::string_view prefix, const Visitor& visit) const override;
  absl::Status Write(const StateChanges& changes) override;

 private:
  using Rows = std::map<std::string, std::string, std::less<>>;

  Rows& RowsOf(Table table) { return tables_.at(static_cast<size_t>(table)); }
  const Rows& RowsOf(Table table) const { return tables_.at(static_cast<size_t>(table)); }
  static void EraseRange(std::string_view begin, std::string_view end, Rows* rows);

  mutable std::shared_mutex mutex_;  // guards the tables
  std::array<Rows, kTableCount> tables_;
};

}  // namespace eroica
