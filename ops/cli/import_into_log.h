// Traces into the events topic of a log, with a progress bar: what `eroica import` does, and
// `eroica diagnose` first.
#pragma once

#include <absl/status/statusor.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "producers/core/log_batch_sink.h"
#include "producers/import/trace_import.h"
#include "stream_ops/log/log.h"

namespace eroica {

// What the user says of the traces.
struct TraceFlags {
  std::vector<std::string> paths;
  std::string job;
  uint32_t window_steps = ImportOptions().window_steps;

  void AddTo(CLI::App& command);
};

// The topic must exist. The report's books close: events = imported + skipped.
absl::StatusOr<ImportReport> ImportIntoLog(const TraceFlags& flags, Log& log,
                                           const LogBatchSinkOptions& options);

// One JSON object: totals, skipped by reason, the files, the warnings.
std::string ImportReportJson(const ImportReport& report);

}  // namespace eroica
