// The node's durable store: RocksDB, one column family a table, the write-ahead log on. After the
// death of the process the reopened store is that of the last whole Write, both data and input
// position.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "state_store/key_schema.h"
#include "state_store/state_store.h"

namespace eroica {

// What a Write survives once it has answered.
enum class Durability {
  kProcessDeath,  // kill -9 and crashes of the node: the log is with the operating system
  // and of the machine: one fsync a Write (FACTS: 2.4 ms; with one Write a second it is free)
  kPowerLoss,
};

struct RocksDbStoreOptions {
  std::string folder;                       // made if absent; belongs to one open store at a time
  size_t memory_bytes = size_t{256} << 20;  // blocks, indexes, filters and write buffers together
  int background_jobs = 2;                  // flushes and compactions at once
  int open_files_max = 1024;
  Durability durability = Durability::kProcessDeath;
  int schema_version = kKeySchemaVersion;
};

// What RocksDB counts of itself, now.
struct StoreMeasures {
  uint64_t live_bytes = 0;  // on disk, without what compaction will drop
  uint64_t cache_bytes = 0;
  uint64_t write_buffer_bytes = 0;
  uint64_t table_bytes = 0;  // indexes and filters beside the cache
  bool compaction_pending = false;
};

class RocksDbStore : public StateStore {
 public:
  // kPermissionDenied: the folder cannot be made or written. kFailedPrecondition: another store has
  // it open, or another version of Eroica wrote it.
  // kDataLoss: it is damaged. kResourceExhausted: no space. Each message names the folder and says
  // what to do.
  static absl::StatusOr<std::unique_ptr<RocksDbStore>> Open(const RocksDbStoreOptions& options);
  // Some tables as they are now, to look at, without touching the folder: beside the node that has
  // it open, too, whose later writes are not seen.
  // kNotFound: there is no store. Otherwise as Open; asking for another table is a bug.
  static absl::StatusOr<std::unique_ptr<const RocksDbStore>> OpenReadOnly(
      const RocksDbStoreOptions& options, std::span<const Table> tables);
  ~RocksDbStore() override;

  absl::StatusOr<std::optional<std::string>> Get(Table table, std::string_view key) const override;
  absl::Status Scan(Table table, std::string_view prefix, const Visitor& visit) const override;
  // kResourceExhausted: the disk is full; nothing of the changes was kept, and every further Write
  // fails until RocksDB, which looks every five seconds, has found room for a write buffer (4 MiB)
  // and flushed what it has. A limit on file sizes it does not look at again: reopen the store.
  absl::Status Write(const StateChanges& changes) override;
  StoreMeasures Measure() const;

 private:
  struct Impl;
  explicit RocksDbStore(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace eroica
