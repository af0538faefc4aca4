// For tests: event batches of small jobs, and a processor with its store and outputs around it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "state_store/in_memory_store.h"
#include "stream_ops/summarize/summarize_processor.h"

namespace eroica {

inline constexpr int64_t kSecond = 1'000'000'000;

inline constexpr MarkKind kBegin = MarkKind::kStepBegin;
inline constexpr MarkKind kEnd = MarkKind::kStepEnd;

// One batch, row by row.
class EventBatchBuilder {
 public:
  EventBatchBuilder(uint32_t rank, uint64_t sequence, uint32_t window_steps = 0,
                    uint32_t window_offset = 0);

  EventBatchBuilder& Ran(const std::string& function, int64_t start_ns, int64_t end_ns,
                         FunctionClass function_class = FunctionClass::kPython);
  // An all-reduce of communicator 7, members 0 and 1.
  EventBatchBuilder& Reduced(uint64_t sequence, int64_t start_ns, int64_t end_ns);
  EventBatchBuilder& Marked(MarkKind kind, int64_t id, int64_t time_ns);
  EventBatchBuilder& Sampled(Resource resource, int64_t time_ns, float value);
  // A report of progress; in flight: this all-reduce of communicator 7, launched then. sequence <
  // 0: nothing is in flight.
  EventBatchBuilder& Reported(int64_t time_ns, int64_t step, const std::string& function,
                              int64_t sequence = -1, int64_t launched_ns = 0);
  EventBatchBuilder& Lost(uint64_t count);
  EventBatchBuilder& Final();
  EventBatch Build() const { return batch_; }

 private:
  void AddCommunicator();
  uint32_t FunctionNumber(const std::string& name, FunctionClass function_class);
  EventBatch batch_;
};

// As Table and topics would hold it.
struct Forwarded {
  Topic topic;
  std::string key;
  std::string payload;
  friend auto operator<=>(const Forwarded&, const Forwarded&) = default;
};

class SummarizeHarness : public ProcessorContext {
 public:
  explicit SummarizeHarness(const SummarizeOptions& options = {});

  // A record at the next offset. Committed at once: outputs and changes together.
  void Process(const EventBatch& batch);
  void ProcessBytes(std::string payload);
  void Punctuate(PunctuationType type);
  // The process dies and another takes over: state from the store, records from the restart offset.
  void Restart();

  SummarizeProcessor& processor() { return *processor_; }
  const std::vector<Forwarded>& forwarded() const { return forwarded_; }
  std::vector<PatternBatch> patterns() const;
  std::vector<CollectiveBatch> collectives() const;
  std::vector<RankStanding> standings() const;
  // The one pattern batch of the rank and window; fails the test where there is not exactly one.
  PatternBatch Patterns(uint32_t rank, int64_t index) const;
  const std::vector<DropReason>& dead_letters() const { return dead_letters_; }
  const std::vector<DropReason>& outputs_dropped() const { return outputs_dropped_; }
  const InMemoryStore& stored() const { return store_; }
  // received = used + dropped by reason + held.
  void ExpectBooksClosed() const;

  void Forward(Topic topic, std::string key, PayloadType type, Bytes payload, int64_t timestamp_ms,
               const JobId& job) override;
  void DeadLetter(DropReason reason) override { dead_letters_.push_back(reason); }
  void DropOutput(DropReason reason) override { outputs_dropped_.push_back(reason); }
  void CountUnused(DropReason reason, uint64_t events) override { unused_[reason] += events; }
  const StateStore& store() const override { return store_; }
  StateChanges& changes() override { return changes_; }

 private:
  void Deliver(const ConsumerRecord& record);
  void Commit();

  SummarizeOptions options_;
  InMemoryStore store_;
  StateChanges changes_;
  std::unique_ptr<SummarizeProcessor> processor_;
  std::vector<ConsumerRecord> log_;
  int64_t restart_offset_ = 0;
  std::vector<Forwarded> forwarded_;
  std::vector<DropReason> dead_letters_;
  std::vector<DropReason> outputs_dropped_;
  std::map<DropReason, uint64_t> unused_;  // of this processor's life
};

const FunctionPattern* FindPattern(const PatternBatch& batch, std::string_view name);

}  // namespace eroica
