// What a recording that `eroica record` made says of itself: manifest.json in its folder. It is
// written before the first record, as unfinished, and once more after the last one is on the disk,
// so that half a copy never looks like a whole one. A recording of live producers has none.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace eroica {

inline constexpr const char* kManifestName = "manifest.json";

// The records of one partition.
struct PartitionManifest {
  int64_t first_offset = 0;  // of the source
  int64_t last_offset = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;  // of keys, values and headers
  std::string sha256;  // content_digest.h, in hex
};

struct TopicManifest {
  int32_t partitions = 1;
  std::map<std::string, std::string> config;          // of the source's topic
  std::map<int32_t, PartitionManifest> by_partition;  // those that hold a record
};

// What the records say of one job.
struct JobManifest {
  uint64_t records = 0;
  uint64_t ranks = 0;  // that sent one
  int64_t first_ms = 0;
  int64_t last_ms = 0;
};

struct Manifest {
  bool complete = false;
  std::string eroica_version;
  int64_t created_ms = 0;
  std::string source;
  std::string job;  // empty: all
  std::optional<int64_t> from_ms;
  std::optional<int64_t> to_ms;
  // The records' timestamps are the times at which a broker got them, else event times.
  bool stamped_at_arrival = false;
  // What the source had lost itself, in sentences: the ends of its partitions that were cut off.
  std::vector<std::string> lost;
  std::map<std::string, TopicManifest> topics;
  std::map<std::string, JobManifest> jobs;
};

// Replaces what is there, as a whole.
absl::Status WriteManifest(const std::string& folder, const Manifest& manifest);
// Nothing where the folder has none. kDataLoss for one that is damaged, kFailedPrecondition for one
// of another version.
absl::StatusOr<std::optional<Manifest>> ReadManifest(const std::string& folder);
// kFailedPrecondition, with what to do, where a copy into this folder was not finished.
absl::Status RequireFinished(const std::string& folder);

// As JSON, for people and programs. Deterministic.
std::string ToJson(const Manifest& manifest);

}  // namespace eroica
