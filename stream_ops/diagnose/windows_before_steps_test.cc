// DiagnoseProcessor and the windows of ranks that have no step yet.
#include <gtest/gtest.h>

#include "diagnosis/measurements/training_view.h"
#include "schemas/test_encoder.h"
#include "state_store/in_memory_store.h"
#include "state_store/key_schema.h"
#include "stream_ops/diagnose/diagnose_processor.h"
#include "stream_ops/diagnose/job_row.h"

namespace eroica {
namespace {

class Context final : public ProcessorContext {
 public:
  void Forward(Topic, std::string, PayloadType, Bytes, int64_t, const JobId&) override {}
  void ForwardEvent(EventRecord) override { ++events; }
  void DeadLetter(DropReason) override { ADD_FAILURE(); }
  void DropOutput(DropReason) override { ADD_FAILURE(); }
  const StateStore& store() const override { return store_; }
  StateChanges& changes() override { return changes_; }
  // The job as of its newest window.
  WindowSummary Newest() {
    EXPECT_TRUE(store_.Write(changes_).ok());
    changes_.clear();
    const auto row = store_.Get(Table::kJobs, EncodeKey(JobId{"job"}));
    EXPECT_TRUE(row.ok() && row->has_value());
    return DecodeJobRow(**row).value_or(WindowSummary());
  }
  int events = 0;

 private:
  InMemoryStore store_;
  StateChanges changes_;
};

class WindowsBeforeStepsTest : public ::testing::Test {
 protected:
  WindowsBeforeStepsTest() { EXPECT_TRUE(processor_.Init(context_).ok()); }

  // One of four ranks runs something else for long.
  void Send(WindowKind kind, int64_t index) {
    TrainingView job(4);
    job.RunOnAll("load", 80).Run(1, "download", 900, "train > throttled");
    job.Finish();
    for (PatternBatch& batch : job.batches()) {
      batch.window.kind = kind;
      batch.window.index = index;
      if (kind == WindowKind::kTime) batch.steps.clear();
      const Bytes payload = encoder_.Encode(batch);
      ConsumerRecord record;
      record.offset = next_offset_++;
      record.value.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
      ASSERT_TRUE(processor_.Process(record).ok());
    }
  }

  Context context_;
  DiagnoseProcessor processor_;
  TestEncoder encoder_;
  int64_t next_offset_ = 0;
};

TEST_F(WindowsBeforeStepsTest, AreShownAndNothingIsFoundInThem) {
  for (int64_t index = 170; index < 176; ++index) Send(WindowKind::kTime, index);
  EXPECT_EQ(context_.events, 0) << "a job that starts";
  const WindowSummary newest = context_.Newest();
  EXPECT_EQ(newest.kind, WindowKind::kTime);
  EXPECT_EQ(newest.index, 175);
  EXPECT_EQ(newest.ranks_seen, 4u);
}

// A rank that never trains beside others that do.
TEST_F(WindowsBeforeStepsTest, DoNotStandForAJobThatHasSteps) {
  Send(WindowKind::kTime, 170);
  Send(WindowKind::kSteps, 0);
  EXPECT_GT(context_.events, 0);
  Send(WindowKind::kTime, 171);
  EXPECT_EQ(context_.Newest().kind, WindowKind::kSteps);
}

}  // namespace
}  // namespace eroica
