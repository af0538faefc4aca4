#include "tests/simulation/simulated_store.h"

#include <utility>

#include "schemas/check.h"

namespace eroica::testing {
namespace {

constexpr size_t kUnsyncedMax = 12;

}  // namespace

SimulatedStore::SimulatedStore()
    : now_(std::make_unique<InMemoryStore>()),
      synced_(std::make_unique<InMemoryStore>()),
      copy_(std::make_unique<InMemoryStore>()) {}

absl::StatusOr<std::optional<std::string>> SimulatedStore::Get(Table table,
                                                               std::string_view key) const {
  return now_->Get(table, key);
}

absl::Status SimulatedStore::Scan(Table table, std::string_view prefix,
                                  const Visitor& visit) const {
  return now_->Scan(table, prefix, visit);
}

absl::Status SimulatedStore::Write(const StateChanges& changes) {
  if (std::exchange(fails_, false)) return absl::UnavailableError("the disk is busy");
  unsynced_.push_back(changes);
  if (unsynced_.size() > kUnsyncedMax) {
    EROICA_CHECK(synced_->Write(unsynced_.front()).ok());
    unsynced_.pop_front();
  }
  return now_->Write(changes);
}

void SimulatedStore::LosePower(size_t count) {
  fails_ = false;
  unsynced_.resize(unsynced_.size() - std::min(count, unsynced_.size()));
  for (const StateChanges& changes : unsynced_) EROICA_CHECK(synced_->Write(changes).ok());
  unsynced_.clear();
  now_ = CopyOf(*synced_);
}

void SimulatedStore::KeepCopy() { copy_ = CopyOf(*now_); }

void SimulatedStore::PutCopyBack() {
  unsynced_.clear();
  fails_ = false;
  now_ = CopyOf(*copy_);
  synced_ = CopyOf(*copy_);
}

void SimulatedStore::LoseDisk() {
  copy_ = std::make_unique<InMemoryStore>();
  PutCopyBack();
}

std::unique_ptr<InMemoryStore> SimulatedStore::CopyOf(const StateStore& store) {
  StateChanges rows;
  for (int table = 0; table < kTableCount; ++table) {
    const auto add = [&](std::string_view key, std::string_view value) {
      rows.Put(static_cast<Table>(table), std::string(key), std::string(value));
      return true;
    };
    EROICA_CHECK(store.Scan(static_cast<Table>(table), "", add).ok());
  }
  auto copy = std::make_unique<InMemoryStore>();
  EROICA_CHECK(copy->Write(rows).ok());
  return copy;
}

}  // namespace eroica::testing
