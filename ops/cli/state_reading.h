// What nodes know, read without them: the state store of one, which may be running, or the
// changelog that all nodes of a Kafka share.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "ops/cli/known_jobs.h"
#include "ops/config/node_config.h"
#include "state_store/rocksdb_store.h"
#include "stream_ops/log/log.h"

namespace eroica {

// Findings, jobs and their progress, as they are now. kNotFound: there is no store in the folder.
absl::StatusOr<std::unique_ptr<const RocksDbStore>> OpenState(const std::string& folder);

// Of the nodes that work on the log, which is the one of the configuration. None where no node has
// run yet. Over Kafka it reads for ten seconds at most (KnownJobs::is_whole).
absl::StatusOr<KnownJobs> JobsBehind(Log& log, const NodeConfig& config);
// Says of each job in a recording what was not recorded of it, and where no finding was ever open
// (is_silent), what the diagnosis could not decide. Nothing of a Kafka, whose topics are too long
// to be read for that.
absl::Status AddRecordedGaps(Log& log, const NodeConfig& config, bool is_silent, KnownJobs* known);

// job, resolved: as NoFindingsBehind.
NoFindingsQuestion QuestionOf(const NodeConfig& config, const std::string& job, size_t resolved);

// What `eroica findings` says of a log in which no finding of the job is open, and `eroica run` of
// the same log when its job has ended. job: empty: all. resolved: findings of it that are resolved.
absl::StatusOr<NoFindings> NoFindingsBehind(Log& log, const NodeConfig& config,
                                            const std::string& job, size_t resolved);

}  // namespace eroica
