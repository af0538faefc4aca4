#include "tests/evaluation/lab/shifted_batch_sink.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

class LastBatch final : public BatchSink {
 public:
  absl::Status Write(const EventBatch& written) override {
    batch = written;
    return absl::UnavailableError("heard");
  }
  EventBatch batch;
};

TEST(ShiftedBatchSink, MovesEveryTimeAndNothingElse) {
  EventBatch batch;
  batch.identity.job = JobId{"job"};
  batch.sequence = 4;
  batch.clock = {1'000, 30, 1'010};
  batch.intervals.push_back(1'000, 5, 0, 0);
  batch.samples = {{1'001, Resource::kCpu, 0.5f}};
  batch.marks = {{1'002, MarkKind::kStepBegin, 9}};
  batch.progress = {{.time_ns = 1'003, .step = 9, .in_flight = {{.launched_ns = 1'004}}}};
  EventBatch expected = batch;
  expected.clock = {1'100, 30, 1'110};
  expected.intervals.start_ns[0] = 1'100;
  expected.samples[0].time_ns = 1'101;
  expected.marks[0].time_ns = 1'102;
  expected.progress[0].time_ns = 1'103;
  expected.progress[0].in_flight[0].launched_ns = 1'104;
  LastBatch last;
  ShiftedBatchSink sink(last, 100);
  EXPECT_TRUE(absl::IsUnavailable(sink.Write(batch))) << "what the other sink answers";
  EXPECT_EQ(last.batch, expected);
}

}  // namespace
}  // namespace eroica
