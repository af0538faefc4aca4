#include "stream_ops/pattern/pattern_rows.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace eroica {
namespace {

void Fold(FunctionClass function_class, int64_t critical_ns, PatternBatch* batch) {
  int64_t& folded = batch->folded_critical_ns[static_cast<size_t>(function_class)];
  folded = critical_ns > kEndOfTimeNs - folded ? kEndOfTimeNs : folded + critical_ns;
  ++batch->folded_functions;
}

FunctionPattern MakeRow(uint32_t function, const CriticalPathSweep& sweep, const FunctionTable& functions, const ResourceAccount& resources,
                        int64_t window_ns) {
  const FunctionTotals& totals = sweep.totals(function);
  const FunctionTraits& traits = functions.traits()[function];
  const FunctionResource resource = resources.Of(function);
  FunctionPattern row;
  row.function = traits.id;
  row.name = functions.name(function);
  row.stack = functions.Stack(function);
  row.function_class = traits.function_class;
  row.wait = traits.wait;
  row.resource = resource.resource;
  row.resource_samples = resource.samples;
  // Host functions that run on several lanes at once could come out above the whole window.
  row.beta = window_ns > 0 ? std::min(1.0, static_cast<double>(totals.critical_ns) / static_cast<double>(window_ns)) : 0.0;
  row.mu = std::clamp(resource.mu, 0.0, 1.0);
  row.sigma = std::clamp(resource.sigma, 0.0, 1.0);
  row.count = totals.count;
  row.total_ns = totals.total_ns;
  row.critical_ns = totals.critical_ns;
  row.duration_mean_ns = totals.mean_ns();
  row.duration_m2 = totals.m2();
  row.duration_min_ns = totals.min_ns;
  row.duration_max_ns = totals.max_ns;
  row.active_steps = sweep.active_steps(function);
  sweep.ReadHistogram(function, &row.histogram);
  return row;
}

size_t ApproximateBytes(const FunctionPattern& row) { return 128 + row.name.size() + row.stack.size() + 6 * row.histogram.buckets().size(); }

// cudaMalloc, cuMemAlloc, hipFree: a Python frame above it holds the critical path, and it is why that frame takes long.
bool IsRuntimeCall(const FunctionPattern& row) {
  if (row.function_class != FunctionClass::kCpuOp || row.wait != WaitKind::kNone) return false;
  const std::string_view name = row.name;
  return name.starts_with("cuda") || name.starts_with("hip") || (name.starts_with("cu") && name.size() > 2 && name[2] >= 'A' && name[2] <= 'Z');
}

}  // namespace

void BuildPatternRows(const CriticalPathSweep& sweep, const FunctionTable& functions, const ResourceAccount& resources,
                      std::span<const FunctionBytes> bytes, const RowLimits& limits, PatternBatch* batch) {
  std::vector<uint32_t> order = sweep.functions();
  if (order.size() > limits.rows_max) {
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const auto key = [&](uint32_t f) { return std::pair(-sweep.totals(f).critical_ns, functions.traits()[f].id); };
      return key(a) < key(b);
    });
  }
  size_t size = 0;
  for (uint32_t function : order) {
    if (batch->patterns.size() < limits.rows_max && size < limits.bytes_max) {
      batch->patterns.push_back(MakeRow(function, sweep, functions, resources, batch->window.duration_ns()));
      size += ApproximateBytes(batch->patterns.back());
    } else {
      Fold(functions.traits()[function].function_class, sweep.totals(function).critical_ns, batch);
    }
  }
  std::unordered_map<FunctionId, uint64_t> moved;
  for (const FunctionBytes& entry : bytes) moved[functions.traits()[entry.function].id] += entry.bytes;
  for (FunctionPattern& row : batch->patterns) {
    if (const auto found = moved.find(row.function); found != moved.end()) row.bytes = found->second;
  }
  std::sort(batch->patterns.begin(), batch->patterns.end(),
            [](const FunctionPattern& a, const FunctionPattern& b) { return a.function < b.function; });
}

void FoldSmallRows(double share_min, PatternBatch* batch) {
  const double least_ns = share_min * static_cast<double>(batch->window.duration_ns());
  std::erase_if(batch->patterns, [&](const FunctionPattern& row) {
    if (row.function_class == FunctionClass::kCollective || static_cast<double>(row.critical_ns) >= least_ns) return false;
    if (IsRuntimeCall(row) && static_cast<double>(row.total_ns) >= least_ns) return false;
    Fold(row.function_class, row.critical_ns, batch);
    return true;
  });
}

}  // namespace eroica
