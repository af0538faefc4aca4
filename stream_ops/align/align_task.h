// For tests: a task around the processor. Forwards are decoded, changes are committed when the test
// says so, and the books are looked at after every record.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schemas/test_encoder.h"
#include "schemas/time_unit.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/align/align_processor.h"
#include "stream_ops/align/align_test_batches.h"

namespace eroica {

class AlignTask : public ProcessorContext {
 public:
  explicit AlignTask(InMemoryStore* store, AlignOptions options = {})
      : store_(store), processor_(options) {
    EXPECT_TRUE(processor_.Init(*this).ok());
  }

  void Forward(Topic topic, std::string key, PayloadType type, Bytes payload, int64_t timestamp_ms,
               const JobId& job) override {
    EXPECT_EQ(topic, Topic::kPatterns);
    EXPECT_EQ(type, PayloadType::kCollectiveSummary);
    EXPECT_EQ(key, JobKey(job));
    CollectiveSummary summary;
    ASSERT_EQ(decoder_.Decode(payload, &summary), DropReason::kNone);
    EXPECT_EQ(timestamp_ms, summary.window.end_ns / kNsPerMs);
    sent.push_back(std::move(summary));
  }
  void DeadLetter(DropReason reason) override { dead_letters.push_back(reason); }
  void DropOutput(DropReason reason) override { outputs_dropped.push_back(reason); }
  void CountUnused(DropReason reason, uint64_t events) override { unused[reason] += events; }
  const StateStore& store() const override { return *store_; }
  StateChanges& changes() override { return changes_; }

  void Process(const CollectiveBatch& batch, int64_t offset = 0) {
    const Bytes payload = encoder_.Encode(batch);
    Process(std::string(reinterpret_cast<const char*>(payload.data()), payload.size()), offset);
  }
  void Process(std::string payload, int64_t offset) {
    ConsumerRecord record;
    record.offset = offset;
    record.value = std::move(payload);
    ASSERT_TRUE(processor_.Process(record).ok());
    CheckBooks();
  }
  void Punctuate(PunctuationType type) {
    ASSERT_TRUE(processor_.Punctuate(type).ok());
    CheckBooks();
  }
  void Commit() {
    ASSERT_TRUE(store_->Write(changes_).ok());
    changes_.clear();
  }
  void CheckBooks() const {
    const AlignProbe& probe = processor_.probe();
    EXPECT_EQ(probe.batches_received, probe.batches_malformed + probe.batches_late +
                                          probe.batches_duplicate + probe.batches_closed +
                                          processor_.open_batches());
    EXPECT_EQ(
        probe.rows_received + probe.rows_restored,
        probe.rows_dropped + probe.rows.total() - probe.rows.carried + processor_.pending_rows());
    EXPECT_EQ(probe.summaries_sent, sent.size());
  }
  AlignProcessor& processor() { return processor_; }
  const AlignProbe& probe() const { return processor_.probe(); }

  std::vector<CollectiveSummary> sent;
  std::vector<DropReason> dead_letters;
  std::vector<DropReason> outputs_dropped;
  std::map<DropReason, uint64_t> unused;

 private:
  InMemoryStore* store_;
  StateChanges changes_;
  TestEncoder encoder_;
  Decoder decoder_;
  AlignProcessor processor_;
};

}  // namespace eroica
