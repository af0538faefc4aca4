#include "diagnosis/slow_transfer/slow_transfer_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/training_view.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Four ranks that work for 50 ms a step, and are in collectives for the rest of 100 ms.
class Job {
 public:
  static constexpr int64_t kSteps = 8;

  explicit Job(int64_t steps = kSteps, int64_t exposed_ms = 40)
      : steps_(steps), view_(4, static_cast<uint32_t>(steps)) {
    view_.RunOnAll("gemm", 50, "", FunctionClass::kGpuCompute).Finish();
    CollectiveSummary& summary = view_.AddSummary();
    for (uint32_t rank = 0; rank < 4; ++rank) {
      Exposed(rank, exposed_ms);
      summary.members.push_back(
          {.rank = RankId{rank}, .count = 8, .exposed_wait_ns = steps * 4 * kMillisecond});
    }
  }
  Job& Exposed(uint32_t rank, int64_t ms) {
    for (StepRecord& step : view_.batches()[rank].steps) {
      step.duration_ns = 100 * kMillisecond;
      step.peer_wait_ns = ms * kMillisecond;
    }
    return *this;
  }
  Job& LateWait(uint32_t rank, int64_t ms) {
    view_.summaries()[0].members[rank].exposed_wait_ns = steps_ * ms * kMillisecond;
    return *this;
  }
  Job& ReceiveWait(uint32_t rank, int64_t ms) {
    view_.summaries()[0].pairs.push_back({.source = RankId{(rank + 1) % 4},
                                          .destination = RankId{rank},
                                          .receive_wait_ns = steps_ * ms * kMillisecond});
    return *this;
  }
  TrainingView& view() { return view_; }
  std::vector<Finding> Evaluate() { return ClaimsOf<SlowTransferOperator>(view_); }

 private:
  int64_t steps_;
  TrainingView view_;
};

TEST(SlowTransfer, CollectivesThatTakeLongForAllAreTheNetwork) {
  const std::vector<Finding> findings = Job().Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kCommunication);
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_THAT(findings[0].title, HasSubstr("which link is slow is undecided"));
  EXPECT_THAT(findings[0].suggested_action, HasSubstr("TCP_INFO"));
  EXPECT_NEAR(findings[0].lost_ns_per_step, 10 * kMillisecond, 1);
  EXPECT_NEAR(findings[0].evidence.front().culprit, 40 * kMillisecond, 1);
}

TEST(SlowTransfer, IsSilentBelowTheExpectedShare) {
  EXPECT_THAT(Job(Job::kSteps, 29).Evaluate(), IsEmpty());
}

TEST(SlowTransfer, IsSilentWhereOneRankIsLate) {
  EXPECT_THAT(Job().Exposed(2, 31).LateWait(0, 25).LateWait(1, 25).LateWait(3, 25).Evaluate(),
              IsEmpty());
  EXPECT_THAT(Job(Job::kSteps, 60).Exposed(2, 40).Evaluate(), IsEmpty())
      << "who waits least is late, whatever the durations say";
}

TEST(SlowTransfer, IsSilentWhereAMemberIsNotRecorded) {
  Job unseen;
  for (PatternBatch& batch : unseen.view().batches()) batch.world_size = 5;
  EXPECT_THAT(unseen.Evaluate(), IsEmpty());
  Job silent;
  silent.view().batches()[3].silent = true;
  EXPECT_THAT(silent.Evaluate(), IsEmpty());
  Job missing;
  missing.view().summaries()[0].missing = {RankId{3}};
  EXPECT_THAT(missing.Evaluate(), IsEmpty());
}

TEST(SlowTransfer, IsSilentWhereConnectionsTellMore) {
  Job job;
  job.view().batches()[3].connections.push_back({.peer = 0, .bytes = 1, .busy_ns = 1});
  EXPECT_THAT(job.Evaluate(), IsEmpty());
}

// The host's sampler would report connections over a network, and what devices exchange is none of
// its business.
TEST(SlowTransfer, IsSilentWhereNoNetworkLiesBetweenTheRanks) {
  const auto findings = [](const std::string& last_host, bool sampled, bool on_device) {
    Job job;
    for (PatternBatch& batch : job.view().batches()) {
      batch.host = batch.rank.value == 3 ? last_host : "node0";
      if (!on_device) batch.patterns[0].function_class = FunctionClass::kCpuOp;
    }
    if (sampled)
      job.view().batches()[2].levels.push_back(
          {.resource = Resource::kHostCpu, .mean = 0.8, .samples = 1});
    return job.Evaluate().size();
  };
  EXPECT_EQ(findings("node0", true, false), 0u);
  EXPECT_EQ(findings("node1", true, false), 1u);
  EXPECT_EQ(findings("", true, false), 1u) << "nobody knows where the last rank runs";
  EXPECT_EQ(findings("node0", false, false), 1u) << "traces do not know of connections";
  EXPECT_EQ(findings("node0", true, true), 1u);
}

TEST(SlowTransfer, IsSilentInPipelinesThatWaitInReceives) {
  Job job;
  for (uint32_t rank = 0; rank < 4; ++rank) job.ReceiveWait(rank, 20);
  EXPECT_THAT(job.Evaluate(), IsEmpty());
}

TEST(SlowTransfer, IsSilentInTwoSteps) {
  EXPECT_THAT(Job(2).Evaluate(), IsEmpty());
  EXPECT_THAT(Job(3).Evaluate(), SizeIs(1));
}

TEST(SlowTransfer, IsSilentAboutASingleRank) {
  TrainingView view(1);
  view.RunOnAll("gemm", 50).Finish();
  for (StepRecord& step : view.batches()[0].steps) step.peer_wait_ns = step.duration_ns;
  const CrossRankView seen(view.batches(), view.summaries());
  std::vector<Finding> findings;
  SlowTransferOperator().Evaluate(seen, findings);
  EXPECT_THAT(findings, IsEmpty());
}

}  // namespace
}  // namespace eroica
