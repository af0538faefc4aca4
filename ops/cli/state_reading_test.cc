#include "ops/cli/state_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/cli/pattern_log.h"
#include "schemas/test_encoder.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One of two ranks of a host: eight steps of 100 ms, with a wait of so long in each.
void Report(PatternLog& log, uint32_t rank, int64_t wait_ms) {
  constexpr int64_t kStepNs = 100 * kNsPerMs;
  PatternBatch batch;
  batch.job = JobId{"job"};
  batch.rank = RankId{rank};
  batch.host = "one";
  batch.world_size = 2;
  batch.host_only = true;
  batch.window = {.kind = WindowKind::kSteps, .end_ns = 8 * kStepNs, .last_step = 7};
  for (int64_t step = 0; step < 8; ++step)
    batch.steps.push_back({.id = step, .duration_ns = kStepNs, .peer_wait_ns = wait_ms * kNsPerMs});
  log.Append(TestEncoder().Encode(batch));
}

void ReportCollectives(PatternLog& log) {
  CollectiveSummary summary;
  summary.job = JobId{"job"};
  summary.communicator = CommId{1};
  summary.world_size = 2;
  summary.operations = 8;
  log.Append(TestEncoder().Encode(summary));
}

CaptureGaps GapsOf(PatternLog& log, bool is_silent) {
  KnownJobs known;
  known.node_has_run = true;
  known.jobs["job"] = {};
  NodeConfig config;
  const absl::Status status = AddRecordedGaps(log.log(), config, is_silent, &known);
  EXPECT_TRUE(status.ok()) << status;
  return known.jobs["job"].gaps.value_or(CaptureGaps());
}

// Steps that differ by much hide a rank that is late in all of them; a finding that is resolved
// says why the rank was busier.
TEST(AddRecordedGaps, ARankThatIsBusierOnTheAverageIsNotSilent) {
  for (const int64_t wait_ms : {30, 88}) {
    PatternLog log;
    Report(log, 0, 90);
    Report(log, 1, wait_ms);
    ReportCollectives(log);
    EXPECT_THAT(GapsOf(log, false).sentences, IsEmpty());
    const CaptureGaps gaps = GapsOf(log, true);
    EXPECT_EQ(gaps.undecided, wait_ms == 30);
    if (gaps.undecided) {
      EXPECT_THAT(gaps.sentences, ElementsAre(HasSubstr("Rank 1 is busy for")));
    }
  }
}

}  // namespace
}  // namespace eroica
