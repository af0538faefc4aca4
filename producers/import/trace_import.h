// From what people already have to EventBatches: files and folders of traces in, batches of every
// rank out. Start here.
//
// Reading happens in two phases. First every file is read once, as a stream, and what it says is
// kept compactly (32 bytes an event, spilled to a temporary file beyond the budget). Then, when all
// ranks are known, their collectives are matched and the batches are written rank by rank. Memory:
// sort_memory_bytes + names and call stacks (TraceFunctions::Limits) + the collectives (some 100
// bytes each)
// + one batch.
//
// TCP_INFO beside traces tells what each rank sent to each other one (connection_import.h).
// Flight-recorder dumps beside traces tell their collectives apart; alone they tell where a job
// stands still (standstill_import.h).
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "producers/core/batch_sink.h"
#include "producers/import/function_table.h"
#include "producers/import/import_report.h"
#include "schemas/ids.h"

namespace eroica {

struct ImportOptions {
  JobId job;                  // empty: the name of the folder that holds the traces
  uint32_t window_steps = 0;  // for ProducerIdentity::window_steps; 0: chosen (window_choice.h)
  size_t sort_memory_bytes = size_t{512} << 20;
  TraceFunctions::Limits
      function_limits;  // what comes beyond is counted as one function, and said in the report
  // false: Python functions are skipped, as if the profiler had recorded with_stack=False
  bool python_stacks = true;
};

using ImportProgress = std::function<void(uint64_t bytes_done, uint64_t bytes_total)>;

// paths: files, or folders of which every trace is taken (not their subfolders). Fails where
// nothing can be imported, where the files belong to different jobs, or where the sink fails;
// everything less is a warning in the report. Batches of one rank are written one after the other,
// ranks ascending.
absl::StatusOr<ImportReport> ImportTraces(std::span<const std::filesystem::path> paths,
                                          const ImportOptions& options, BatchSink& sink,
                                          const ImportProgress& progress);

}  // namespace eroica
