// Capture level 1: batches are summarized here, in the producer's process, and the records that the
// stage summarize would send go to the patterns and collectives topics; with options.partition they
// go into that partition of the events topic, where the stage forwards them. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "producers/core/batch_sink.h"
#include "producers/core/log_batch_sink.h"
#include "stream_ops/log/log.h"
#include "stream_ops/summarize/edge_summarizer.h"

namespace eroica {

class EdgeBatchSink final : public BatchSink {
 public:
  // producer must outlive the sink. Batches of a rank come in order. Without options.timestamp_ms
  // records bear the end of their window.
  EdgeBatchSink(LogProducer* producer, LogBatchSinkOptions options,
                const SummarizeOptions& summarize = EdgeSummarizer::InOrder());

  absl::Status Write(const EventBatch& batch) override { return summarizer_.Add(batch); }
  // Closes all windows. Last, or followed by Finish.
  absl::Status CloseWindows() { return summarizer_.Finish(); }
  // Closes all windows; everything is durable. Last.
  absl::Status Finish();

  uint64_t records() const { return records_; }
  uint64_t bytes() const { return bytes_; }
  const SummarizeProbe& probe() const { return summarizer_.probe(); }

 private:
  absl::Status Send(EdgeRecord record);

  LogProducer* const producer_;
  const LogBatchSinkOptions options_;
  uint64_t records_ = 0;
  uint64_t bytes_ = 0;
  EdgeSummarizer summarizer_;
};

}  // namespace eroica
