// What reading a slice would read: `--dry-run`. Looks at one record at each end of each partition.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "stream_ops/log/log_slice.h"
#include "stream_ops/log/slice_reader.h"

namespace eroica {

struct SlicePlan {
  LogSlice slice;
  // Of the records at the partitions' ends; nothing where there are none.
  std::optional<int64_t> first_ms;
  std::optional<int64_t> last_ms;
  std::set<std::string> jobs;  // that these name: perhaps not all
};

absl::StatusOr<SlicePlan> PlanSlice(const LogSlice& slice, const OpenReaders& readers);

// A line a partition that holds something, and sums.
std::string PlanText(const SlicePlan& plan);
// One JSON object.
std::string PlanJson(const SlicePlan& plan);

}  // namespace eroica
