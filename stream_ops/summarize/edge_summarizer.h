// The stage summarize inside a producer (capture level 1): batches in memory in, the records that
// the stage would send out, byte for byte, with neither a log nor a wire between. Level 1 costs the
// transport a few kilobytes a rank and window instead of every event.
//
// Owner: one thread. Any number of ranks and jobs; their batches may be interleaved, each
// producer's come in order. Memory: what lies in open windows.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "schemas/event_batch.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/processor.h"
#include "stream_ops/summarize/summarize_options.h"
#include "stream_ops/summarize/summarize_processor.h"

namespace eroica {

// A record as the stage forwards it: for Topic::kPatterns or Topic::kCollectives. The payload lives
// until the call returns.
struct EdgeRecord {
  Topic topic = Topic::kPatterns;
  std::string key;
  PayloadType type = PayloadType::kUnknown;
  Bytes payload;
  int64_t timestamp_ms = 0;
  const JobId& job;
};

class EdgeSummarizer final : private ProcessorContext {
 public:
  // An error ends what the summarizer is in the middle of, and is the answer to it.
  using Emit = std::function<absl::Status(EdgeRecord record)>;

  EdgeSummarizer(const SummarizeOptions& options, Emit emit);
  EdgeSummarizer(const EdgeSummarizer&) = delete;
  EdgeSummarizer& operator=(const EdgeSummarizer&) = delete;

  // For producers that hand over their own batches in order: windows close at once when the rank
  // begins the next.
  static SummarizeOptions InOrder() { return {.out_of_orderness_ns = 0}; }

  // For a process in which CUPTI and NCCL say what its device did: CUPTI's records come with its
  // next flush (half a second, producers/cupti), operations of NCCL when they have ended. Later
  // than this they are late for their windows.
  static SummarizeOptions InProcess() {
    SummarizeOptions options = InOrder();
    options.device_lateness_ns = int64_t{1'500} * 1'000'000;
    return options;
  }

  // kInvalidArgument for a batch that breaks its invariants; it is left out.
  absl::Status Add(const EventBatch& batch);
  // Closes all windows. What was a producer's final batch has closed its own before.
  absl::Status Finish();

  const SummarizeProbe& probe() const { return processor_.probe(); }
  uint64_t events_held() const { return processor_.events_held(); }

 private:
  void Forward(Topic topic, std::string key, PayloadType type, Bytes payload, int64_t timestamp_ms,
               const JobId& job) override;
  void DeadLetter(DropReason) override {}  // only what cannot be decoded is one
  void DropOutput(DropReason) override {}  // the probe has it
  const StateStore& store() const override { return nothing_; }
  // At the edge nothing is kept: after a crash a producer begins anew.
  StateChanges& changes() override { return changes_; }
  absl::Status TakeStatus();

  Emit emit_;
  InMemoryStore nothing_;
  StateChanges changes_;
  SummarizeProcessor processor_;
  absl::Status status_;
  int64_t batches_ = 0;
};

}  // namespace eroica
