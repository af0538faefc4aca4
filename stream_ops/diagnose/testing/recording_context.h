// What a task gives the diagnose stage, with everything in the open, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schemas/codec.h"
#include "schemas/finding_version.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/processor.h"
#include "stream_ops/topics.h"

namespace eroica {

class RecordingContext final : public ProcessorContext {
 public:
  explicit RecordingContext(InMemoryStore& store) : store_(store) {}

  void Forward(Topic, std::string, PayloadType, Bytes, int64_t, const JobId&) override {
    ADD_FAILURE() << "findings are events";
  }
  void ForwardEvent(EventRecord event) override {
    const JobId job(std::string(FindHeader(event.headers, kHeaderJob).value()));
    EXPECT_EQ(event.key, JobKey(job));
    if (event.topic == Topic::kFindingsJson) {
      json_events.push_back(std::move(event));
      return;
    }
    EXPECT_EQ(event.topic, Topic::kFindings);
    EXPECT_EQ(FindHeader(event.headers, kHeaderSchema), SchemaId(PayloadType::kFinding));
    Finding finding;
    EXPECT_EQ(decoder_.Decode(std::as_bytes(std::span(event.value)), &finding), DropReason::kNone);
    EXPECT_EQ(FindHeader(event.headers, "ce_id"), FindingVersionId(finding));
    findings.push_back(std::move(finding));
    timestamps.push_back(event.timestamp_ms);
  }
  void DeadLetter(DropReason reason) override { dead_letters.push_back(reason); }
  void DropOutput(DropReason reason) override { outputs_dropped.push_back(reason); }
  void CountUnused(DropReason reason, uint64_t events) override { unused[reason] += events; }
  const StateStore& store() const override { return store_; }
  StateChanges& changes() override { return changes_; }
  void Commit() {
    EXPECT_TRUE(store_.Write(changes_).ok());
    changes_.clear();
  }

  std::vector<Finding> findings;
  std::vector<EventRecord> json_events;
  std::vector<int64_t> timestamps;
  std::vector<DropReason> dead_letters;
  std::vector<DropReason> outputs_dropped;
  std::map<DropReason, uint64_t> unused;

 private:
  InMemoryStore& store_;
  StateChanges changes_;
  Decoder decoder_;
};

}  // namespace eroica
