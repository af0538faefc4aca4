// The store of bounded runs and tests: sorted maps, gone with the process.
#pragma once

#include <absl/base/thread_annotations.h>
#include <absl/synchronization/mutex.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "state_store/state_store.h"

namespace eroica {

class InMemoryStore : public StateStore {
 public:
  absl::StatusOr<std::optional<std::string>> Get(Table table, std::string_view key) const override;
  absl::Status Scan(Table table, std::string_view prefix, const Visitor& visit) const override;
  absl::Status Write(const StateChanges& changes) override;
  absl::Status DropRange(Table table, std::string_view begin, std::string_view end) override;

 private:
  using Rows = std::map<std::string, std::string, std::less<>>;

  Rows& RowsOf(Table table) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return tables_.at(static_cast<size_t>(table)); }
  const Rows& RowsOf(Table table) const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return tables_.at(static_cast<size_t>(table)); }
  static void EraseRange(std::string_view begin, std::string_view end, Rows* rows);

  mutable absl::Mutex mutex_;
  std::array<Rows, kTableCount> tables_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace eroica
