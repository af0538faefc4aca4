// The store of bounded runs and tests: sorted maps, gone with the process.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "schemas/mutex.h"
#include "state_store/state_store.h"

namespace eroica {

class InMemoryStore : public StateStore {
 public:
  absl::StatusOr<std::optional<std::string>> Get(Table table, std::string_view key) const override;
  absl::Status Scan(Table table, std::string_view prefix, const Visitor& visit) const override;
  absl::Status Write(const StateChanges& changes) override;

 private:
  using Rows = std::map<std::string, std::string, std::less<>>;

  Rows& RowsOf(Table table) EROICA_REQUIRES(mutex_) {
    return tables_.at(static_cast<size_t>(table));
  }
  const Rows& RowsOf(Table table) const EROICA_REQUIRES_SHARED(mutex_) {
    return tables_.at(static_cast<size_t>(table));
  }
  static void EraseRange(std::string_view begin, std::string_view end, Rows* rows);

  mutable SharedMutex mutex_;
  std::array<Rows, kTableCount> tables_ EROICA_GUARDED_BY(mutex_);
};

}  // namespace eroica
