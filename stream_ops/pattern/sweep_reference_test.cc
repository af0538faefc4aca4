// Random jobs: the sweep must agree with the definition in every number.
#include "stream_ops/pattern/sweep_reference.h"

#include <gtest/gtest.h>

#include <random>

#include "stream_ops/pattern/interval_order.h"

namespace eroica {
namespace {

class RandomJob {
 public:
  explicit RandomJob(uint32_t seed) : random_(seed) {
    const uint32_t function_count = 3 + Below(12);
    for (uint32_t i = 0; i < function_count; ++i) {
      FunctionTraits traits{
          .id = FunctionId{random_()},
          .function_class = static_cast<FunctionClass>(Below(kFunctionClassCount))};
      const bool host = traits.function_class >= FunctionClass::kPython;
      if (host && Below(4) == 0) traits.wait = WaitKind::kPeer;
      traits.depth = Below(3);
      functions_.push_back(traits);
    }
    for (uint32_t i = 0, lanes = 1 + Below(4); i < lanes; ++i)
      lanes_.push_back(static_cast<LaneKind>(Below(kLaneKindCount)));
    const int64_t longest = 1 + Below(40);
    for (uint32_t i = 0, count = Below(60); i < count; ++i) {
      const int64_t start = Below(150);
      const auto lane_count = static_cast<uint32_t>(lanes_.size());
      intervals_.push_back({start, start + Below(static_cast<uint32_t>(longest)),
                            Below(function_count), Below(lane_count)});
      Interval& interval = intervals_.back();
      if (functions_[interval.function].function_class == FunctionClass::kCollective &&
          Below(3) == 0)
        interval.lane |= kAsynchronousTicket;
    }
    IntervalSorter().Sort(functions_, intervals_);
    input_.start_ns = Below(40);
    input_.end_ns = input_.start_ns + Below(130);
    for (int64_t t = input_.start_ns + Below(20); t < input_.end_ns;) {
      const int64_t end = std::min<int64_t>(input_.end_ns, t + 1 + Below(30));
      steps_.push_back({static_cast<int64_t>(steps_.size()), t, end});
      t = end + Below(10);
    }
    input_.host_only = Below(2) == 0;
    input_.intervals = intervals_;
    input_.functions = functions_;
    input_.lanes = lanes_;
    input_.steps = steps_;
  }
  const SweepInput& input() const { return input_; }

 private:
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  std::mt19937 random_;
  std::vector<FunctionTraits> functions_;
  std::vector<LaneKind> lanes_;
  std::vector<Interval> intervals_;
  std::vector<StepSpan> steps_;
  SweepInput input_;
};

void ExpectEqual(const CriticalPathSweep& sweep, const ReferenceResult& expected,
                 size_t function_count) {
  EXPECT_EQ(sweep.functions().size(), expected.count.size());
  for (uint32_t f = 0; f < function_count; ++f) {
    const auto value = [f](const auto& map) { return map.contains(f) ? map.at(f) : 0; };
    if (!expected.count.contains(f)) continue;
    const FunctionTotals& totals = sweep.totals(f);
    EXPECT_EQ(totals.count, value(expected.count)) << "function " << f;
    EXPECT_EQ(totals.total_ns, value(expected.total_ns)) << "function " << f;
    EXPECT_EQ(totals.critical_ns, value(expected.critical_ns)) << "function " << f;
    EXPECT_EQ(sweep.active_steps(f), value(expected.active_steps)) << "function " << f;
    DurationHistogram histogram;
    sweep.ReadHistogram(f, &histogram);
    EXPECT_EQ(histogram.count(), totals.count);
  }
  ASSERT_EQ(sweep.steps().size(), expected.peer_wait_ns.size());
  for (size_t i = 0; i < expected.peer_wait_ns.size(); ++i)
    EXPECT_EQ(sweep.steps()[i].peer_wait_ns, expected.peer_wait_ns[i]) << "step " << i;
  ASSERT_EQ(sweep.collectives().size(), expected.collectives.size());
  for (size_t i = 0; i < expected.collectives.size(); ++i) {
    EXPECT_EQ(sweep.collectives()[i].ticket, expected.collectives[i].ticket) << i;
    EXPECT_EQ(sweep.collectives()[i].exposed_ns, expected.collectives[i].exposed_ns) << i;
    EXPECT_EQ(sweep.collectives()[i].gap_ns, expected.collectives[i].gap_ns) << i;
    EXPECT_EQ(sweep.collectives()[i].before, expected.collectives[i].before) << i;
    EXPECT_EQ(sweep.collectives()[i].before_ns, expected.collectives[i].before_ns) << i;
  }
}

TEST(CriticalPathSweep, AgreesWithTheDefinitionOnRandomJobs) {
  CriticalPathSweep sweep;  // one for all: what a run leaves behind must not show in the next
  for (uint32_t seed = 0; seed < 3000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const RandomJob job(seed);
    sweep.Run(job.input());
    ExpectEqual(sweep, SweepByMoments(job.input()), job.input().functions.size());
  }
}

}  // namespace
}  // namespace eroica
