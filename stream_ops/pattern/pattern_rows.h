// From a sweep to the rows of a PatternBatch: of those functions that matter to the whole job.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/pattern_batch.h"
#include "stream_ops/pattern/critical_path_sweep.h"
#include "stream_ops/pattern/function_table.h"
#include "stream_ops/pattern/resource_account.h"

namespace eroica {

// Bytes that operations of the function moved; few functions do.
struct FunctionBytes {
  uint32_t function = 0;
  uint64_t bytes = 0;
};

// What a batch may hold; functions with less critical time are folded.
struct RowLimits {
  size_t rows_max = 16'384;
  size_t bytes_max = size_t{32} << 20;  // of names, stacks and histograms, about
  double fold_below = 0;  // IsSmall: functions critical for less than this share of the window
};

// Fills batch->patterns, by FunctionId, and adds to its folded_* what the limits leave out.
// batch->window must be set.
void BuildPatternRows(const CriticalPathSweep& sweep, const FunctionTable& functions,
                      const ResourceAccount& resources, std::span<const FunctionBytes> bytes,
                      const RowLimits& limits, PatternBatch* batch);

// Whether a function is critical for less than least_ns of the window and no witness all the same:
// collectives, kernels that work on parameters, calls of the device's runtime that run for as long,
// and what the training thread runs hidden (schemas/hidden_row.h) are rows however small.
bool IsSmall(const FunctionTotals& totals, const FunctionTraits& traits, std::string_view name,
             double least_ns, int64_t window_ns);

}  // namespace eroica
