// What `eroica diagnose` does with traces: imports them into a log, runs all stages over it, reads
// the findings, and writes them down. In this process; any log; one thread.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/cli/capture_gaps.h"
#include "ops/cli/import_into_log.h"
#include "schemas/finding.h"
#include "stream_ops/diagnose/job_board.h"
#include "stream_ops/runtime/stage_probe.h"

namespace eroica {

struct Diagnosis {
  ImportReport report;
  StageProbe probe;  // of all stages
  std::vector<Finding> findings;
  CaptureGaps gaps;
  bool undecided() const { return findings.empty() && gaps.undecided; }
};

// Fails with failed precondition where nothing can be said about the traces.
// log: empty, with its topics. board: nullptr where nobody looks. imported: called before the
// stages begin.
absl::StatusOr<Diagnosis> DiagnoseTraces(const TraceFlags& traces, Log& log,
                                         std::shared_ptr<JobBoard> board,
                                         const std::function<void(const ImportReport&)>& imported);

// A line what was imported, one a finding, one what is left open: each is an object.
std::string ImportedJsonLine(const ImportReport& report);
std::string FoundJsonLines(const Diagnosis& diagnosis);
// For traces about which nothing can be said.
std::string CannotTellJsonLine(const std::string& why);

// For the terminal.
std::string DiagnosisText(const Diagnosis& diagnosis);
std::string CannotTellText(const std::string& why);

}  // namespace eroica
