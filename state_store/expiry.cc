#include "state_store/expiry.h"

#include "state_store/key_schema.h"

namespace eroica {
namespace {

absl::Status DropWindows(StateStore& store, const KeyRange& range) {
  absl::Status status = store.DropRange(Table::kPatterns, range.begin, range.end);
  status.Update(store.DropRange(Table::kSummaries, range.begin, range.end));
  return status;
}

}  // namespace

absl::Status ExpireTimeWindows(StateStore& store, int64_t before_index) {
  return DropWindows(store, TimeWindowsBefore(before_index));
}

absl::Status ExpireStepWindows(StateStore& store, const JobId& job, int64_t before_index) {
  return DropWindows(store, StepWindowsBefore(job, before_index));
}

}  // namespace eroica
