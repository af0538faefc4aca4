#include "state_store/rocksdb_store.h"

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <rocksdb/write_buffer_manager.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "schemas/check.h"
#include "schemas/file_access.h"
#include "schemas/thread_boundary.h"
#include "state_store/key_encoding.h"
#include "state_store/rocksdb_store_files.h"
#include "state_store/upgrade.h"

namespace eroica {
namespace {

constexpr std::string_view kVersionKey = "schema_version";  // in the default column family

constexpr std::array<const char*, kTableCount> kFamilyNames = {"findings", "jobs", "progress",
                                                               "positions"};
// A store of this version is upgraded when a node opens it (upgrade.h).
constexpr std::string_view kUpgradedVersion = "2";

constexpr int kReadOnlyAttempts = 5;

rocksdb::Slice ToSlice(std::string_view text) { return {text.data(), text.size()}; }
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// Whether the operating system said so, whatever RocksDB makes of it: what a flush or a compaction
// met comes back from a later write as "Result incomplete: IO error: No space left on device: ...",
// without its code. The text is that of the C locale, as RocksDB's threads never set another.
bool WasSaid(int error_number, const rocksdb::Status& status) {
  return status.ToString().find(std::strerror(error_number)) != std::string::npos;
}

// What RocksDB says, as what the operator has to do about it.
absl::Status ToStatus(const rocksdb::Status& status, std::string_view doing,
                      const std::string& folder) {
  if (status.ok()) return absl::OkStatus();
  const std::string what =
      fmt::format("{} in state store {}: {}", doing, folder, status.ToString());
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kNoSpace ||
      WasSaid(ENOSPC, status)) {
    return absl::ResourceExhaustedError(fmt::format(
        "{}; the disk is full: make space, a running node then goes on by itself", what));
  }
  if (WasSaid(EFBIG, status)) {
    return absl::ResourceExhaustedError(
        fmt::format("{}; raise the limit on file sizes (ulimit -f), then restart the node", what));
  }
  if (status.IsCorruption()) {
    return absl::DataLossError(
        fmt::format("{}; the store is damaged: move the folder away and restart, open windows are "
                    "rebuilt from the input log",
                    what));
  }
  return absl::InternalError(what);
}

bool LacksAFile(const rocksdb::Status& status) {
  return status.IsIOError() && !status.IsNoSpace() &&
         status.ToString().find("No such file") != std::string::npos;
}

absl::Status OpenError(const rocksdb::Status& status, const std::string& folder) {
  const std::string text = status.ToString();
  // RocksDB has no code of its own for these two: "lock hold by current process", "While lock file:
  // .../LOCK", "Column families not opened: ...".
  if (status.IsIOError() && (text.find("lock hold") != std::string::npos ||
                             text.find("While lock file") != std::string::npos)) {
    return absl::FailedPreconditionError(
        fmt::format("state store {} is already open in this or another process: stop that node, or "
                    "give this one a folder of its own ({})",
                    folder, text));
  }
  if (status.IsInvalidArgument() && text.find("olumn famil") != std::string::npos) {
    return absl::FailedPreconditionError(
        fmt::format("state store {} was written by another version of eroica: use that version, or "
                    "a new folder ({})",
                    folder, text));
  }
  // A file that the manifest names and the disk does not have is an IO error to RocksDB.
  if (LacksAFile(status)) {
    return absl::DataLossError(
        fmt::format("state store {} lacks a file: move the folder away and restart, open windows "
                    "are rebuilt from the input log ({})",
                    folder, text));
  }
  return ToStatus(status, "opening", folder);
}

// RocksDB waits for whoever writes to a pipe.
absl::Status CheckFiles(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    const std::filesystem::file_status status = entry->status(unknown);
    if (is_regular_file(status) || is_directory(status) || !exists(status)) continue;
    return absl::FailedPreconditionError(
        fmt::format("{} in state store {} is a pipe, a socket or a device, not a file: remove it",
                    entry->path().filename().string(), folder));
  }
  return absl::OkStatus();
}

absl::Status PrepareFolder(const std::string& folder) {
  if (folder.empty()) return absl::InvalidArgumentError("the state store needs a folder");
  if (const std::error_code error = MakeFolders(folder); error) {
    return absl::PermissionDeniedError(
        fmt::format("cannot make the folder of the state store, {}: {}; choose another (--state), "
                    "or let the user that eroica runs as write there",
                    folder, error.message()));
  }
  if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    return absl::PermissionDeniedError(
        fmt::format("no permission to write to the folder of the state store, {}: give it to the "
                    "user that eroica runs as",
                    folder));
  }
  if (OthersMayRead(folder))
    spdlog::warn(
        "component=state_store others may read the folder of the state store, which holds "
        "what jobs run: chmod 700 it folder={}",
        folder);
  return CheckFiles(folder);
}

absl::Status RequireStore(const std::string& folder) {
  std::error_code error;
  const bool found = std::filesystem::exists(std::filesystem::path(folder) / "CURRENT", error);
  if (error == std::errc::permission_denied ||
      (found && access(folder.c_str(), R_OK | X_OK) != 0)) {
    return absl::PermissionDeniedError(
        fmt::format("no permission to read the folder of the state store, {}", folder));
  }
  if (!found)
    return absl::NotFoundError(fmt::format(
        "there is no state store in {}: name the folder that a node was given", folder));
  return CheckFiles(folder);
}

// The memory bound: all blocks, index and filter blocks are in one cache, and the write buffers are
// charged to it. A writer that is faster than the disk waits for a flush instead of growing.
struct MemoryBudget {
  explicit MemoryBudget(size_t bytes)
      : cache(rocksdb::NewLRUCache(bytes, /*num_shard_bits=*/-1, /*strict_capacity_limit=*/false,
                                   /*high_pri_pool_ratio=*/0.2)),
        write_buffers(std::make_shared<rocksdb::WriteBufferManager>(bytes / 2, cache,
                                                                    /*allow_stall=*/true)) {}

  std::shared_ptr<rocksdb::Cache> cache;
  std::shared_ptr<rocksdb::WriteBufferManager> write_buffers;
};

// RocksDB's errors join the node's log (its warnings are mostly write stalls, one line each). Its
// own log file would be one more thing to write on a full disk, and there RocksDB 7.8 aborts the
// process (an assertion in its file writer, met in EnvLogger).
class NodeLogger : public rocksdb::Logger {
 public:
  explicit NodeLogger(std::string folder)
      : rocksdb::Logger(rocksdb::InfoLogLevel::ERROR_LEVEL), folder_(std::move(folder)) {}

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    std::array<char, 1024> line;
    std::vsnprintf(line.data(), line.size(), format, arguments);  // longer ones are cut
    std::string_view text = line.data();
    if (text.ends_with('\n')) text.remove_suffix(1);
    RunAtBoundary(
        [&] { spdlog::error("component=state_store folder={} rocksdb=\"{}\"", folder_, text); },
        [](const Thrown&) {});  // RocksDB's threads catch nothing
  }

 private:
  std::string folder_;
};

rocksdb::DBOptions MakeDbOptions(const RocksDbStoreOptions& options, const MemoryBudget& memory) {
  rocksdb::DBOptions db;
  db.env = PrivateEnv();
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  db.paranoid_checks = true;
  db.write_buffer_manager = memory.write_buffers;
  db.max_background_jobs = std::max(1, options.background_jobs);
  db.max_open_files = options.open_files_max;
  // A log is replayed at 6 ms a MB: 64 MiB keep the restart after a crash well under a second.
  db.max_total_wal_size = std::min<uint64_t>(uint64_t{64} << 20, options.memory_bytes / 2);
  // writes reach the disk evenly, not in one burst that stalls the node
  db.bytes_per_sync = uint64_t{1} << 20;
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  db.info_log = std::make_shared<NodeLogger>(options.folder);
  db.stats_dump_period_sec = 0;
  return db;
}

rocksdb::ColumnFamilyOptions MakeFamilyOptions(const RocksDbStoreOptions& options,
                                               const MemoryBudget& memory) {
  rocksdb::BlockBasedTableOptions blocks;
  blocks.block_cache = memory.cache;
  blocks.cache_index_and_filter_blocks = true;
  blocks.cache_index_and_filter_blocks_with_high_priority = true;
  blocks.pin_l0_filter_and_index_blocks_in_cache = true;
  // point reads: one finding, one job
  blocks.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));

  rocksdb::ColumnFamilyOptions family;
  // a third of the bytes at no cost in speed (FACTS 14)
  family.compression = rocksdb::kLZ4Compression;
  // Small rows, often overwritten, read one at a time.
  blocks.block_size = size_t{4} << 10;
  family.write_buffer_size =
      std::clamp<size_t>(options.memory_bytes / 64, size_t{256} << 10, size_t{4} << 20);
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(blocks));
  return family;
}

}  // namespace

struct RocksDbStore::Impl {
  ~Impl() {
    for (rocksdb::ColumnFamilyHandle* family : families) {
      if (family != nullptr) db->DestroyColumnFamilyHandle(family).PermitUncheckedError();
    }
    if (db != nullptr) db->Close().PermitUncheckedError();
  }

  // The default family, which holds only the version, is behind the tables' ones.
  rocksdb::ColumnFamilyHandle* FamilyOf(Table table) const {
    rocksdb::ColumnFamilyHandle* const family = families.at(static_cast<size_t>(table));
    EROICA_CHECK(family != nullptr);
    return family;
  }
  rocksdb::ColumnFamilyHandle* default_family() const { return families.back(); }

  // Of a new store, and with its upgraded rows of one of the version before: all or nothing.
  absl::Status WriteVersion() {
    std::string version;
    const rocksdb::Status found = db->Get({}, default_family(), ToSlice(kVersionKey), &version);
    if (!found.IsNotFound() && version != kUpgradedVersion) return absl::OkStatus();
    rocksdb::WriteBatch batch;
    rocksdb::Status status = batch.Put(default_family(), ToSlice(kVersionKey),
                                       ToSlice(std::to_string(options.schema_version)));
    if (status.ok() && !found.IsNotFound()) status = Upgrade(batch);
    if (status.ok()) status = db->Write(write_options, &batch);
    return ToStatus(status, "writing the version", options.folder);
  }

  rocksdb::Status Upgrade(rocksdb::WriteBatch& batch) {
    DiagnosingTasks tasks;
    for (const Table table : {Table::kPositions, Table::kProgress}) {
      const std::unique_ptr<rocksdb::Iterator> row(db->NewIterator({}, FamilyOf(table)));
      for (row->SeekToFirst(); row->Valid(); row->Next()) tasks.Note(ToView(row->key()));
      if (!row->status().ok()) return row->status();
    }
    rocksdb::Status status;
    for (const Table table : {Table::kFindings, Table::kJobs}) {
      const std::unique_ptr<rocksdb::Iterator> row(db->NewIterator({}, FamilyOf(table)));
      for (row->SeekToFirst(); row->Valid() && status.ok(); row->Next()) {
        status = batch.Delete(FamilyOf(table), row->key());
        const std::optional<std::string> upgraded = tasks.Upgrade(ToView(row->key()));
        if (upgraded && status.ok()) status = batch.Put(FamilyOf(table), *upgraded, row->value());
      }
      if (status.ok()) status = row->status();
    }
    return status;
  }

  absl::Status CheckVersion() const {
    std::string version;
    const rocksdb::Status found = db->Get({}, default_family(), ToSlice(kVersionKey), &version);
    if (found.IsNotFound()) version = "none";
    if (!found.ok() && !found.IsNotFound())
      return ToStatus(found, "reading the version", options.folder);
    if (version == std::to_string(options.schema_version)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        fmt::format("state store {} has schema version {}, this eroica reads and writes {}: use "
                    "the version of eroica that wrote it, or a new folder",
                    options.folder, version, options.schema_version));
  }

  RocksDbStoreOptions options;
  rocksdb::WriteOptions write_options;
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> families;
};

RocksDbStore::RocksDbStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RocksDbStore::~RocksDbStore() = default;

absl::StatusOr<std::unique_ptr<RocksDbStore>> RocksDbStore::Open(
    const RocksDbStoreOptions& options) {
  if (absl::Status prepared = PrepareFolder(options.folder); !prepared.ok()) return prepared;
  const MemoryBudget memory(options.memory_bytes);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (int table = 0; table < kTableCount; ++table) {
    descriptors.emplace_back(kFamilyNames.at(static_cast<size_t>(table)),
                             MakeFamilyOptions(options, memory));
  }
  descriptors.emplace_back(rocksdb::kDefaultColumnFamilyName, MakeFamilyOptions(options, memory));
  const rocksdb::DBOptions db_options = MakeDbOptions(options, memory);

  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->write_options.sync = options.durability == Durability::kPowerLoss;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened =
      rocksdb::DB::Open(db_options, options.folder, descriptors, &impl->families, &db);
  if (!opened.ok()) return OpenError(opened, options.folder);
  impl->db.reset(db);
  absl::Status status = impl->WriteVersion();
  if (status.ok()) status = impl->CheckVersion();
  if (!status.ok()) return status;
  return std::unique_ptr<RocksDbStore>(new RocksDbStore(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<const RocksDbStore>> RocksDbStore::OpenReadOnly(
    const RocksDbStoreOptions& options, std::span<const Table> tables) {
  if (absl::Status found = RequireStore(options.folder); !found.ok()) return found;
  const MemoryBudget memory(options.memory_bytes);
  rocksdb::DBOptions db_options = MakeDbOptions(options, memory);
  db_options.create_if_missing = false;
  db_options.create_missing_column_families = false;
  // all from the start: what the node deletes meanwhile stays readable
  db_options.max_open_files = -1;
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const Table table : tables)
    descriptors.emplace_back(kFamilyNames.at(static_cast<size_t>(table)),
                             MakeFamilyOptions(options, memory));
  descriptors.emplace_back(rocksdb::kDefaultColumnFamilyName, MakeFamilyOptions(options, memory));

  auto impl = std::make_unique<Impl>();
  impl->options = options;
  std::vector<rocksdb::ColumnFamilyHandle*> opened_families;
  rocksdb::DB* db = nullptr;
  // The node may delete a file between its name being read and its being opened: the next look
  // knows the files that took its place.
  rocksdb::Status opened;
  for (int attempt = 0; attempt < kReadOnlyAttempts; ++attempt) {
    opened = rocksdb::DB::OpenForReadOnly(db_options, options.folder, descriptors, &opened_families,
                                          &db);
    if (!LacksAFile(opened)) break;
  }
  if (!opened.ok()) return OpenError(opened, options.folder);
  impl->db.reset(db);
  impl->families.assign(kTableCount + 1, nullptr);
  for (size_t i = 0; i < tables.size(); ++i)
    impl->families[static_cast<size_t>(tables[i])] = opened_families[i];
  impl->families.back() = opened_families.back();
  if (absl::Status version = impl->CheckVersion(); !version.ok()) return version;
  return std::unique_ptr<const RocksDbStore>(new RocksDbStore(std::move(impl)));
}

absl::StatusOr<std::optional<std::string>> RocksDbStore::Get(Table table,
                                                             std::string_view key) const {
  std::string value;
  const rocksdb::Status status = impl_->db->Get({}, impl_->FamilyOf(table), ToSlice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return ToStatus(status, "reading", impl_->options.folder);
  return std::optional(std::move(value));
}

absl::Status RocksDbStore::Scan(Table table, std::string_view prefix, const Visitor& visit) const {
  const std::string end = PrefixEnd(prefix);
  const rocksdb::Slice bound = ToSlice(end);
  rocksdb::ReadOptions read;
  if (!end.empty()) read.iterate_upper_bound = &bound;
  // a window is scanned once; it must not push out what is read again and again
  read.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> row(
      impl_->db->NewIterator(read, impl_->FamilyOf(table)));
  for (row->Seek(ToSlice(prefix)); row->Valid(); row->Next()) {
    if (!row->key().starts_with(ToSlice(prefix))) break;
    if (!visit(ToView(row->key()), ToView(row->value()))) break;
  }
  return ToStatus(row->status(), "scanning", impl_->options.folder);
}

absl::Status RocksDbStore::Write(const StateChanges& changes) {
  if (changes.empty()) return absl::OkStatus();
  rocksdb::WriteBatch batch;
  for (const StateChanges::Change& change : changes.changes()) {
    rocksdb::ColumnFamilyHandle* const family = impl_->FamilyOf(change.table);
    rocksdb::Status added;
    switch (change.kind) {
      case StateChanges::Change::Kind::kPut:
        added = batch.Put(family, ToSlice(change.key), ToSlice(change.value));
        break;
      case StateChanges::Change::Kind::kDelete:
        added = batch.Delete(family, ToSlice(change.key));
        break;
      case StateChanges::Change::Kind::kDeleteRange:
        if (change.key < change.value)
          added = batch.DeleteRange(family, ToSlice(change.key), ToSlice(change.value));
        break;
    }
    if (!added.ok()) return ToStatus(added, "preparing a write", impl_->options.folder);
  }
  return ToStatus(impl_->db->Write(impl_->write_options, &batch), "writing", impl_->options.folder);
}

StoreMeasures RocksDbStore::Measure() const {
  StoreMeasures measures;
  const auto sum = [this](const std::string& property) {
    uint64_t all = 0;
    for (rocksdb::ColumnFamilyHandle* family : impl_->families) {
      uint64_t value = 0;
      if (family != nullptr && impl_->db->GetIntProperty(family, property, &value)) all += value;
    }
    return all;
  };
  using Properties = rocksdb::DB::Properties;
  measures.live_bytes = sum(Properties::kEstimateLiveDataSize);
  measures.write_buffer_bytes = sum(Properties::kCurSizeAllMemTables);
  measures.table_bytes = sum(Properties::kEstimateTableReadersMem);
  measures.compaction_pending = sum(Properties::kCompactionPending) > 0;
  // One cache is all families'.
  uint64_t cache = 0;
  if (impl_->db->GetIntProperty(impl_->default_family(), Properties::kBlockCacheUsage, &cache))
    measures.cache_bytes = cache;
  return measures;
}

}  // namespace eroica
