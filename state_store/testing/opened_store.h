// For the tests of the RocksDB store: one that is open, and what it holds.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "state_store/rocksdb_store.h"

namespace eroica {

inline constexpr Table kFindingsOnly[] = {Table::kFindings};

inline RocksDbStoreOptions OptionsFor(const std::string& folder) {
  RocksDbStoreOptions options;
  options.folder = folder;
  options.memory_bytes = size_t{16} << 20;
  return options;
}

inline std::unique_ptr<RocksDbStore> OpenOrDie(const RocksDbStoreOptions& options) {
  auto store = RocksDbStore::Open(options);
  if (!store.ok()) {
    ADD_FAILURE() << store.status();
    std::abort();
  }
  return *std::move(store);
}

inline std::string ValueOf(const StateStore& store, Table table, const std::string& key) {
  const auto value = store.Get(table, key);
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() ? value->value_or("(nothing)") : value.status().ToString();
}

}  // namespace eroica
