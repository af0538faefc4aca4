// The store of a simulated node, with its disk: a write may fail once, and a loss of power takes
// the newest writes with it, each as a whole, as RocksDB's write-ahead log does. A copy of long ago
// may be put back. Owner: one simulated node, one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "state_store/in_memory_store.h"

namespace eroica::testing {

class SimulatedStore final : public StateStore {
 public:
  SimulatedStore();

  absl::StatusOr<std::optional<std::string>> Get(Table table, std::string_view key) const override;
  absl::Status Scan(Table table, std::string_view prefix, const Visitor& visit) const override;
  absl::Status Write(const StateChanges& changes) override;

  // The next write answers kUnavailable and changes nothing.
  void FailOnce() { fails_ = true; }
  // How many writes the disk may lose still.
  size_t unsynced() const { return unsynced_.size(); }
  // Without anybody reading or writing: the newest `count` writes are gone.
  void LosePower(size_t count);
  void KeepCopy();
  // The store as it was at the last KeepCopy; empty where there was none.
  void PutCopyBack();
  void LoseDisk();

 private:
  static std::unique_ptr<InMemoryStore> CopyOf(const StateStore& store);

  std::unique_ptr<InMemoryStore> now_;
  std::unique_ptr<InMemoryStore> synced_;  // now_ without unsynced_
  std::unique_ptr<InMemoryStore> copy_;
  std::deque<StateChanges> unsynced_;
  bool fails_ = false;
};

}  // namespace eroica::testing
