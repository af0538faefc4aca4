#include "ops/cli/state_reading.h"

#include <chrono>
#include <filesystem>

#include "ops/cli/lost_entries.h"
#include "ops/cli/state_folder.h"

namespace eroica {

absl::StatusOr<std::unique_ptr<const RocksDbStore>> OpenState(const std::string& folder) {
  constexpr Table kTables[] = {Table::kFindings, Table::kJobs, Table::kProgress};
  return RocksDbStore::OpenReadOnly({.folder = folder, .memory_bytes = size_t{16} << 20}, kTables);
}

absl::StatusOr<KnownJobs> JobsBehind(Log& log, const NodeConfig& config) {
  constexpr std::chrono::seconds kTime{10};
  if (!config.kafka.bootstrap.empty()) return JobsOfChangelog(log, config.node.topic_prefix, kTime);
  const std::string folder = StateFolder(config);
  if (!std::filesystem::exists(folder)) return KnownJobs();
  const absl::StatusOr<std::unique_ptr<const RocksDbStore>> store = OpenState(folder);
  if (!store.ok()) return store.status();
  absl::StatusOr<KnownJobs> known = JobsOfStore(**store);
  if (!known.ok()) return known;
  const absl::StatusOr<LostEntries> lost = FindLostEntries(log, config);
  if (!lost.ok()) return lost.status();
  known->lost = lost->sentences;
  return known;
}

}  // namespace eroica
