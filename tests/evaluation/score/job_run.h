// One job through all stages in memory: batches in, findings out. Batches are summarized at once,
// as a producer at capture level 1 does, so that a job of 8,192 ranks needs the memory of its
// patterns and not of its events. One thread, no clock: equal batches give equal findings.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "producers/core/batch_sink.h"
#include "stream_ops/log/memory_log.h"
#include "stream_ops/summarize/edge_summarizer.h"
#include "tests/evaluation/score/verdict.h"

namespace eroica {

class JobRun final : public BatchSink {
 public:
  static absl::StatusOr<std::unique_ptr<JobRun>> Create(const SummarizeOptions& options);

  absl::Status Write(const EventBatch& batch) override { return summarizer_->Add(batch); }
  // After the last batch: who waited for whom. What align makes is needed by every method.
  absl::Status Align();
  // After Align: every finding that the whole diagnosis opened, in its latest version, in the order
  // in which they were opened.
  absl::StatusOr<std::vector<SaidFinding>> Diagnose();
  // What the stages have written, below kDefaultTopicPrefix.
  Log& log() { return log_; }
  // After Align: the records of the patterns topic, in order.
  absl::Status ForEachPattern(const std::function<absl::Status(const ConsumerRecord&)>& use);

 private:
  JobRun() = default;
  absl::Status Append(const EdgeRecord& record);
  absl::Status RunStage(std::string_view name);
  absl::Status ForEachRecord(Topic topic,
                             const std::function<absl::Status(const ConsumerRecord&)>& use);

  MemoryLog log_;
  std::unique_ptr<LogProducer> producer_;
  std::unique_ptr<EdgeSummarizer> summarizer_;
};

}  // namespace eroica
