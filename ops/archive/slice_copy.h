// Copies a slice of one log into another: keys, values, headers, timestamps and partitions as they
// are, the order within each partition too. Offsets are the target's own. One thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <string>

#include "ops/archive/contents.h"
#include "stream_ops/log/slice_reader.h"

namespace eroica {

struct SliceCopyOptions {
  std::string job;  // only records whose header names this job; empty: all
  // The topic that a record goes to.
  std::function<std::string(const std::string& topic)> target_of;
  // done and total in offsets; false: stop, kCancelled.
  std::function<bool(int64_t done)> progress;
};

// Everything is durable afterwards. Counts what it copies in *contents.
absl::Status CopySlice(SliceReader& slice, LogProducer& target, const SliceCopyOptions& options,
                       Contents* contents);

}  // namespace eroica
