// What takes records of a partition away again: old segments at its beginning, the newest records
// at its end. Segments go as a whole, and the newest is never taken for its age: the next offset of
// the partition is known from it. Whoever has a deleted segment open reads it to its end.
#pragma once

#include <absl/status/status.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace eroica {

// All segments that hold nothing at or after this offset: Kafka's DeleteRecords.
absl::Status DeleteSegmentsBelow(const std::string& directory, int64_t offset);

// All segments that were last written before this time, oldest first, up to the first that was not.
// By the time of the file: the timestamps of records are event times, of long ago in an import.
absl::Status DeleteSegmentsWrittenBefore(const std::string& directory,
                                         std::chrono::system_clock::time_point time);

// The partition ends at this offset again. Nobody may be writing it. kDataLoss: it ends before.
absl::Status TruncatePartition(const std::string& directory, int64_t end_offset);

}  // namespace eroica
