// From a sweep to the rows of a PatternBatch, and from all rows to those that matter to the whole
// job.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
  double fold_below = 0;  // what FoldSmallRows would fold is not built in the first place
};

// Fills batch->patterns, by FunctionId, and adds to its folded_* what the limits leave out.
// batch->window must be set.
void BuildPatternRows(const CriticalPathSweep& sweep, const FunctionTable& functions,
                      const ResourceAccount& resources, std::span<const FunctionBytes> bytes,
                      const RowLimits& limits, PatternBatch* batch);

// Folds the functions that are critical for less than share_min of the window: what goes to
// diagnose. Collectives stay, calls of the device's runtime that run for as long, and what the
// training thread runs hidden (schemas/hidden_row.h).
void FoldSmallRows(double share_min, PatternBatch* batch);

}  // namespace eroica
