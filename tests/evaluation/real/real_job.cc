#include "tests/evaluation/real/real_job.h"

#include <algorithm>
#include <set>

namespace eroica {

bool RealJob::healthy() const { return std::ranges::all_of(expected, &ExpectedFinding::optional); }

std::vector<uint32_t> RanksOf(const std::vector<EventBatch>& batches) {
  std::set<uint32_t> ranks;
  for (const EventBatch& batch : batches) ranks.insert(batch.identity.rank.value);
  return {ranks.begin(), ranks.end()};
}

std::map<uint32_t, std::string> HostsOf(const std::vector<EventBatch>& batches) {
  std::map<uint32_t, std::string> hosts;
  for (const EventBatch& batch : batches)
    hosts.try_emplace(batch.identity.rank.value, batch.identity.host);
  return hosts;
}

size_t StepCountOf(const std::vector<EventBatch>& batches) {
  std::map<uint32_t, std::set<int64_t>> steps;
  for (const EventBatch& batch : batches) {
    for (const Mark& mark : batch.marks) {
      if (mark.kind == MarkKind::kStepBegin) steps[batch.identity.rank.value].insert(mark.id);
    }
  }
  size_t most = 0;
  for (const auto& [rank, ids] : steps) most = std::max(most, ids.size());
  return most;
}

bool HasPythonFunctions(const std::vector<EventBatch>& batches) {
  return std::any_of(batches.begin(), batches.end(), [](const EventBatch& batch) {
    return std::any_of(batch.functions.begin(), batch.functions.end(), [](const auto& function) {
      return function.function_class == FunctionClass::kPython;
    });
  });
}

}  // namespace eroica
