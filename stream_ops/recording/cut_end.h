// The end of a recorded partition that lies within an entry: a copy that was cut off, a disk that
// was full, a machine that died. While a writer lives, it is an entry that is being written.
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <string>

#include "stream_ops/log/log.h"
#include "stream_ops/recording/segment.h"

namespace eroica {

// Goes on to the segment's end. kTail: its last bytes are no entry, and no writer of the partition
// lives. Of a partition that is being written it is kEnd, whatever lies there yet.
absl::StatusOr<SegmentReader::Step> WalkToEnd(const std::string& directory, SegmentReader* segment);

// Of the newest segment in the partition's folder; nothing where it ends with a whole entry, or
// where there is none.
absl::StatusOr<std::optional<CutEnd>> FindCutEnd(const std::string& directory,
                                                 const TopicPartition& partition);

}  // namespace eroica
