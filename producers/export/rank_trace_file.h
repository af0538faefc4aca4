// The Chrome trace of one rank while it is written. Owner: ChromeTraceWriter. Text is kept until it
// is worth a write, and the file is open only meanwhile: a job has more ranks than a process has
// files.
#pragma once

#include <absl/status/status.h>

#include <string>

#include "producers/export/rank_trace_text.h"
#include "schemas/event_batch.h"

namespace eroica {

class RankTraceFile {
 public:
  explicit RankTraceFile(std::string path) : path_(std::move(path)) {}

  absl::Status Add(const EventBatch& batch);
  // Closes the step that is open and the JSON. No Add after it.
  absl::Status Finish();

 private:
  void Begin(const ProducerIdentity& identity, int64_t base_ns);
  absl::Status Flush();

  const std::string path_;
  RankTraceText events_{TraceProcesses::kHostAndDevice};
  std::string head_;  // before the first event; not yet in the file
  bool created_ = false;
  bool finished_ = false;
};

}  // namespace eroica
