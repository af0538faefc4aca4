// A part of a log: of each partition the offsets [start, end), fixed when the slice is taken, so
// that what is appended later is no part of it. What `eroica record` copies and `eroica replay`
// reads again.
//
// Times are those of the log's records: of Kafka topics that stamp as they append, when a record
// arrived; of a recording of live producers, the time of its first event. Within a partition the
// latter need not be in order: the slice begins with the first record that is not before from_ms
// and ends before the first one that is not before to_ms.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stream_ops/log/log.h"

namespace eroica {

struct OffsetRange {
  int64_t start = 0;  // inclusive
  int64_t end = 0;    // exclusive, never before start
  int64_t size() const { return end - start; }
  friend bool operator==(const OffsetRange&, const OffsetRange&) = default;
};

struct LogSlice {
  // Every partition of the topics that there are, empty ones too.
  std::map<TopicPartition, OffsetRange> ranges;
  // Offsets, which are records but for what a log leaves out (transaction markers, compaction).
  int64_t size() const;
  friend bool operator==(const LogSlice&, const LogSlice&) = default;
};

struct SliceRequest {
  std::vector<std::string> topics;  // one that the log does not have is left out
  std::optional<int64_t> from_ms;   // nothing: from the oldest record on
  std::optional<int64_t> to_ms;     // nothing: to the end as it is now
};

// kNotFound where the log has none of the topics.
absl::StatusOr<LogSlice> TakeSlice(Log& log, const SliceRequest& request);

}  // namespace eroica
