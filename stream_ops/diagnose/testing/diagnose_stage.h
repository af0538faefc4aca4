// The diagnose stage with what a task gives it: the fixture of its tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "schemas/test_encoder.h"
#include "state_store/in_memory_store.h"
#include "stream_ops/diagnose/diagnose_processor.h"
#include "stream_ops/diagnose/testing/recording_context.h"

namespace eroica {

class DiagnoseStage : public ::testing::Test {
 protected:
  DiagnoseStage() { Restart(); }

  // As on a node that starts with what the store holds.
  void Restart() {
    processor_ = DiagnoseProcessor();
    ASSERT_TRUE(processor_.Init(context_).ok());
  }
  template <typename Message>
  void Send(const Message& message) {
    const Bytes payload = encoder_.Encode(message);
    ConsumerRecord record;
    record.offset = next_offset_++;
    record.timestamp_ms = 1'000 + record.offset;
    record.value.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
    ASSERT_TRUE(processor_.Process(record).ok());
  }

  InMemoryStore store_;
  RecordingContext context_{store_};
  DiagnoseProcessor processor_;
  TestEncoder encoder_;
  int64_t next_offset_ = 0;
};

}  // namespace eroica
