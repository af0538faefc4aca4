#include "stream_ops/pattern/pattern_rows.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "schemas/hidden_row.h"
#include "schemas/kernel_bound.h"

namespace eroica {
namespace {

void Fold(FunctionClass function_class, int64_t critical_ns, PatternBatch* batch) {
  int64_t& folded = batch->folded_critical_ns[static_cast<size_t>(function_class)];
  folded = critical_ns > kEndOfTimeNs - folded ? kEndOfTimeNs : folded + critical_ns;
  ++batch->folded_functions;
}

FunctionPattern MakeRow(uint32_t function, const CriticalPathSweep& sweep,
                        const FunctionTable& functions, const ResourceAccount& resources,
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
  row.beta =
      window_ns > 0
          ? std::min(1.0, static_cast<double>(totals.critical_ns) / static_cast<double>(window_ns))
          : 0.0;
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

size_t ApproximateBytes(const FunctionPattern& row) {
  return 128 + row.name.size() + row.stack.size() + 6 * row.histogram.buckets().size();
}

// cudaMalloc, cuMemAlloc, hipFree: a Python frame above it holds the critical path, and it is why
// that frame takes long.
bool IsRuntimeCall(FunctionClass function_class, WaitKind wait, std::string_view name) {
  if (function_class != FunctionClass::kCpuOp || wait != WaitKind::kNone) return false;
  return name.starts_with("cuda") || name.starts_with("hip") ||
         (name.starts_with("cu") && name.size() > 2 && name[2] >= 'A' && name[2] <= 'Z');
}

// Without the optimizer's kernels nobody can tell a slow device from longer inputs: they stay,
// however short.
bool IsWitness(FunctionClass function_class, std::string_view name) {
  return function_class == FunctionClass::kCollective ||
         (function_class == FunctionClass::kGpuCompute && WorksOnParameters(name));
}

// The functions that ran: by FunctionId where all have room, else those with the most critical time
// first.
std::vector<uint32_t> InOrder(const CriticalPathSweep& sweep, const FunctionTable& functions,
                              size_t rows_max) {
  std::vector<uint32_t> order = sweep.functions();
  const std::span<const FunctionTraits> traits = functions.traits();
  if (order.size() <= rows_max) {
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return traits[a].id < traits[b].id; });
  } else {
    const auto key = [&](uint32_t f) {
      return std::pair(-sweep.totals(f).critical_ns, traits[f].id);
    };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  }
  return order;
}

}  // namespace

bool IsSmall(const FunctionTotals& totals, const FunctionTraits& traits, std::string_view name,
             double least_ns, int64_t window_ns) {
  if (static_cast<double>(totals.critical_ns) >= least_ns || IsWitness(traits.function_class, name))
    return false;
  if (IsHidden(traits.function_class, traits.wait, totals.critical_ns, totals.total_ns, window_ns))
    return false;
  return !IsRuntimeCall(traits.function_class, traits.wait, name) ||
         static_cast<double>(totals.total_ns) < least_ns;
}

void BuildPatternRows(const CriticalPathSweep& sweep, const FunctionTable& functions,
                      const ResourceAccount& resources, std::span<const FunctionBytes> bytes,
                      const RowLimits& limits, PatternBatch* batch) {
  const double least_ns = limits.fold_below * static_cast<double>(batch->window.duration_ns());
  const std::vector<uint32_t> order = InOrder(sweep, functions, limits.rows_max);
  batch->patterns.reserve(std::min(order.size(), limits.rows_max));
  size_t size = 0;
  for (uint32_t function : order) {
    const FunctionTotals& totals = sweep.totals(function);
    const FunctionTraits& traits = functions.traits()[function];
    const bool has_room = batch->patterns.size() < limits.rows_max && size < limits.bytes_max;
    if (!has_room ||
        IsSmall(totals, traits, functions.name(function), least_ns, batch->window.duration_ns())) {
      Fold(traits.function_class, totals.critical_ns, batch);
      continue;
    }
    FunctionPattern& row = batch->patterns.emplace_back(
        MakeRow(function, sweep, functions, resources, batch->window.duration_ns()));
    for (const FunctionBytes& entry : bytes)
      row.bytes += entry.function == function ? entry.bytes : 0;
    size += ApproximateBytes(row);
  }
  const auto by_id = [](const FunctionPattern& a, const FunctionPattern& b) {
    return a.function < b.function;
  };
  if (order.size() > limits.rows_max)
    std::sort(batch->patterns.begin(), batch->patterns.end(), by_id);
}

}  // namespace eroica
