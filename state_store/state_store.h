// Ordered key-value state in tables, written atomically together with the input position.
// Implementations: InMemoryStore (bounded runs, tests) and RocksDbStore; both keep the contract
// that state_store_test.cc spells out. Keys: state_store/key_schema.h. Owner: the node. All
// functions are thread-safe; writers take turns.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

enum class Table : uint8_t {
  kFindings = 0,   // task, (job, finding id) -> Finding payload
  kJobs = 1,       // task, job -> what is known of it
  kProgress = 2,   // task, key -> how far windows are closed
  kPositions = 3,  // task -> input offset to restart from
};
inline constexpr int kTableCount = 4;

// An atomic set of changes. Order matters: later ones win.
class StateChanges {
 public:
  struct Change {
    enum class Kind : uint8_t { kPut, kDelete, kDeleteRange };
    Kind kind = Kind::kPut;
    Table table = Table::kFindings;
    std::string key;    // kDeleteRange: begin, inclusive
    std::string value;  // kDeleteRange: end, exclusive
  };

  void Put(Table table, std::string key, std::string value) {
    changes_.push_back({Change::Kind::kPut, table, std::move(key), std::move(value)});
  }
  void Delete(Table table, std::string key) {
    changes_.push_back({Change::Kind::kDelete, table, std::move(key), {}});
  }
  void DeleteRange(Table table, std::string begin, std::string end) {
    changes_.push_back({Change::Kind::kDeleteRange, table, std::move(begin), std::move(end)});
  }
  // Puts prefix before every key, both ends of ranges included.
  void PrefixKeys(std::string_view prefix);
  const std::vector<Change>& changes() const { return changes_; }
  bool empty() const { return changes_.empty(); }
  void clear() { changes_.clear(); }

 private:
  std::vector<Change> changes_;
};

class StateStore {
 public:
  virtual ~StateStore() = default;
  // Nothing where there is no such key.
  virtual absl::StatusOr<std::optional<std::string>> Get(Table table,
                                                         std::string_view key) const = 0;
  // Every key that starts with prefix, in the order of unsigned bytes, until visit answers false.
  // Shows one state of the table: what is written meanwhile is not seen. visit must not call the
  // store.
  using Visitor = std::function<bool(std::string_view key, std::string_view value)>;
  virtual absl::Status Scan(Table table, std::string_view prefix, const Visitor& visit) const = 0;
  // All or nothing, in the order given. A range whose end is not after its begin is empty.
  virtual absl::Status Write(const StateChanges& changes) = 0;
};

}  // namespace eroica
