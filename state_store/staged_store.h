// Collects what is written to a store and hands all of it over in one write: several commits of
// several tasks become durable together or not at all. Whoever reads through it sees them at once.
//
// Memory: what was written since the last Flush, the last value of each key. Thread-safe, as every
// store is.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/mutex.h"
#include "state_store/state_store.h"

namespace eroica {

class StagedStore final : public StateStore {
 public:
  // store must outlive this.
  explicit StagedStore(StateStore* store) : store_(store) {}

  absl::StatusOr<std::optional<std::string>> Get(Table table, std::string_view key) const override;
  absl::Status Scan(Table table, std::string_view prefix, const Visitor& visit) const override;
  absl::Status Write(const StateChanges& changes) override;

  // Everything into the store, in one write. After an error nothing of it is there, and it may be
  // tried again.
  absl::Status Flush();

 private:
  // Nothing: the key is deleted.
  using Rows = std::map<std::string, std::optional<std::string>, std::less<>>;

  Rows& RowsOf(Table table) EROICA_REQUIRES(mutex_) {
    return tables_.at(static_cast<size_t>(table));
  }
  const Rows& RowsOf(Table table) const EROICA_REQUIRES(mutex_) {
    return tables_.at(static_cast<size_t>(table));
  }
  absl::Status StageRange(const StateChanges::Change& range) EROICA_REQUIRES(mutex_);

  StateStore* const store_;
  mutable Mutex mutex_;
  std::array<Rows, kTableCount> tables_ EROICA_GUARDED_BY(mutex_);
};

}  // namespace eroica
