#include "tests/evaluation/real/without_stacks.h"

#include <utility>
#include <vector>

#include "diagnosis/measurements/thread_function.h"

namespace eroica {
namespace {

// What stacks show. That a thread waits for a processor the system says, with stacks or without.
bool IsPython(const EventBatch& batch, uint32_t function) {
  if (function == kNoParent) return false;
  const FunctionDef& def = batch.functions[function];
  return def.function_class == FunctionClass::kPython && !def.name.starts_with(kWaitForProcessor);
}

bool IsOfStack(const EventBatch& batch, size_t interval) {
  return IsPython(batch, batch.intervals.function[interval]) &&
         batch.lanes[batch.intervals.lane[interval]].kind == LaneKind::kTrainingThread;
}

}  // namespace

EventBatch WithoutStacks(EventBatch batch) {
  IntervalColumns kept;
  std::vector<uint32_t> moved_to(batch.intervals.size());  // of those kept
  for (size_t i = 0; i < batch.intervals.size(); ++i) {
    if (IsOfStack(batch, i)) continue;
    moved_to[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(batch.intervals.start_ns[i], batch.intervals.duration_ns[i],
                   batch.intervals.function[i], batch.intervals.lane[i]);
  }
  std::erase_if(batch.collectives,
                [&batch](const Collective& row) { return IsOfStack(batch, row.interval); });
  for (Collective& row : batch.collectives) row.interval = moved_to[row.interval];
  batch.intervals = std::move(kept);
  for (ProgressReport& report : batch.progress) {
    if (IsPython(batch, report.function)) report.function = kNoParent;
  }
  // Last, as the rows above are known by their class: what Python called is called by nobody.
  for (FunctionDef& function : batch.functions) {
    const bool is_python = function.function_class == FunctionClass::kPython;
    if (!is_python && IsPython(batch, function.parent)) function.parent = kNoParent;
  }
  std::erase_if(batch.samples,
                [](const ResourceSample& sample) { return sample.resource == Resource::kStacks; });
  return batch;
}

}  // namespace eroica
