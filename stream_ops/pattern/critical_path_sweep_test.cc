#include "stream_ops/pattern/critical_path_sweep.h"

#include <gtest/gtest.h>

#include "stream_ops/pattern/interval_order.h"

namespace eroica {
namespace {

constexpr uint32_t kTraining = 0;
constexpr uint32_t kWorker = 1;
constexpr uint32_t kStream = 2;

// A small rank: functions are added by class, intervals by hand, and one look at the numbers.
class Rank {
 public:
  uint32_t Function(FunctionClass function_class, WaitKind wait = WaitKind::kNone) {
    functions_.push_back(
        {.id = FunctionId{functions_.size() + 1}, .function_class = function_class, .wait = wait});
    return static_cast<uint32_t>(functions_.size() - 1);
  }
  Rank& Ran(uint32_t function, uint32_t lane, int64_t start, int64_t end) {
    intervals_.push_back({start, end, function, lane});
    return *this;
  }
  Rank& Step(int64_t id, int64_t begin, int64_t end) {
    steps_.push_back({id, begin, end});
    return *this;
  }
  const CriticalPathSweep& Sweep(int64_t start, int64_t end, bool host_only = false) {
    IntervalSorter().Sort(functions_, intervals_);
    static constexpr LaneKind kLanes[] = {LaneKind::kTrainingThread, LaneKind::kHostThread,
                                          LaneKind::kDeviceStream};
    sweep_.Run({.intervals = intervals_,
                .functions = functions_,
                .lanes = kLanes,
                .steps = steps_,
                .start_ns = start,
                .end_ns = end,
                .host_only = host_only});
    return sweep_;
  }
  int64_t critical(uint32_t function) const { return sweep_.totals(function).critical_ns; }

 private:
  std::vector<FunctionTraits> functions_;
  std::vector<Interval> intervals_;
  std::vector<StepSpan> steps_;
  CriticalPathSweep sweep_;
};

TEST(CriticalPathSweep, HigherClassesHideLowerOnes) {
  Rank rank;
  const uint32_t kernel = rank.Function(FunctionClass::kGpuCompute);
  const uint32_t copy = rank.Function(FunctionClass::kMemoryOp);
  const uint32_t reduce = rank.Function(FunctionClass::kCollective);
  const uint32_t frame = rank.Function(FunctionClass::kPython);
  const uint32_t op = rank.Function(FunctionClass::kCpuOp);
  rank.Ran(frame, kTraining, 0, 100).Ran(op, kTraining, 0, 100);
  rank.Ran(kernel, kStream, 10, 30).Ran(copy, kStream, 20, 40).Ran(reduce, 7, 35, 60);
  rank.Sweep(0, 100);
  EXPECT_EQ(rank.critical(kernel), 20);
  EXPECT_EQ(rank.critical(copy), 10);
  EXPECT_EQ(rank.critical(reduce), 20);
  EXPECT_EQ(rank.critical(frame), 50);
  EXPECT_EQ(rank.critical(op), 0) << "Python runs all the time";
}

TEST(CriticalPathSweep, WithoutADeviceCpuOperatorsComeFirst) {
  Rank rank;
  const uint32_t reduce = rank.Function(FunctionClass::kCollective);
  const uint32_t frame = rank.Function(FunctionClass::kPython);
  const uint32_t op = rank.Function(FunctionClass::kCpuOp);
  rank.Ran(frame, kTraining, 0, 100).Ran(op, kWorker, 20, 50).Ran(reduce, 0, 40, 70);
  rank.Sweep(0, 100, true);
  EXPECT_EQ(rank.critical(op), 30) << "on every lane";
  EXPECT_EQ(rank.critical(reduce), 20);
  EXPECT_EQ(rank.critical(frame), 50);
}

TEST(CriticalPathSweep, KernelsThatOverlapAreAllCritical) {
  Rank rank;
  const uint32_t a = rank.Function(FunctionClass::kGpuCompute);
  const uint32_t b = rank.Function(FunctionClass::kGpuCompute);
  rank.Ran(a, kStream, 0, 60).Ran(b, kStream, 20, 80);
  rank.Sweep(0, 100);
  EXPECT_EQ(rank.critical(a), 60);
  EXPECT_EQ(rank.critical(b), 60);
}

TEST(CriticalPathSweep, AFunctionThatRunsTwiceAtOnceIsCriticalOnce) {
  Rank rank;
  const uint32_t kernel = rank.Function(FunctionClass::kGpuCompute);
  const uint32_t copy = rank.Function(FunctionClass::kMemoryOp);
  rank.Ran(kernel, kStream, 0, 60).Ran(kernel, kStream, 20, 80).Ran(kernel, kStream, 30, 40);
  rank.Ran(copy, kStream, 50, 90).Ran(copy, kStream, 70, 100);
  const CriticalPathSweep& sweep = rank.Sweep(0, 100);
  EXPECT_EQ(rank.critical(kernel), 80);
  EXPECT_EQ(sweep.totals(kernel).total_ns, 130);
  EXPECT_EQ(rank.critical(copy), 20);
}

TEST(CriticalPathSweep, OnlyTheLeafOfAStackIsCritical) {
  Rank rank;
  const uint32_t step = rank.Function(FunctionClass::kPython);
  const uint32_t forward = rank.Function(FunctionClass::kPython);
  const uint32_t layer = rank.Function(FunctionClass::kPython);
  rank.Ran(step, kTraining, 0, 100)
      .Ran(forward, kTraining, 10, 60)
      .Ran(layer, kTraining, 20, 30)
      .Ran(layer, kTraining, 40, 60);
  rank.Sweep(0, 100);
  EXPECT_EQ(rank.critical(step), 50);
  EXPECT_EQ(rank.critical(forward), 20);
  EXPECT_EQ(rank.critical(layer), 30);
  EXPECT_EQ(rank.Sweep(0, 100).totals(layer).count, 2u);
  EXPECT_EQ(rank.Sweep(0, 100).totals(step).total_ns, 100);
}

TEST(CriticalPathSweep, PythonCountsOnTrainingThreadsOnly) {
  Rank rank;
  const uint32_t loader = rank.Function(FunctionClass::kPython);
  const uint32_t op = rank.Function(FunctionClass::kCpuOp);
  rank.Ran(loader, kWorker, 0, 100).Ran(op, kWorker, 30, 40);
  rank.Sweep(0, 100);
  EXPECT_EQ(rank.critical(loader), 0);
  EXPECT_EQ(rank.critical(op), 10) << "a frame that does not count hides nothing";
  EXPECT_EQ(rank.Sweep(0, 100).totals(loader).count, 1u);
}

TEST(CriticalPathSweep, LeavesOfClassesAreApart) {
  Rank rank;
  const uint32_t frame = rank.Function(FunctionClass::kPython);
  const uint32_t op = rank.Function(FunctionClass::kCpuOp);
  rank.Ran(frame, kTraining, 0, 100).Ran(op, kTraining, 10, 90);
  rank.Sweep(0, 100);
  EXPECT_EQ(rank.critical(frame), 100) << "an operator is no Python child";
  EXPECT_EQ(rank.critical(op), 0);
}

TEST(CriticalPathSweep, IntervalsOfALaneMayCross) {
  Rank rank;
  const uint32_t outer = rank.Function(FunctionClass::kPython);
  const uint32_t send = rank.Function(FunctionClass::kPython);
  const uint32_t wait = rank.Function(FunctionClass::kPython);
  rank.Ran(outer, kTraining, 0, 100).Ran(send, kTraining, 10, 50).Ran(wait, kTraining, 30, 70);
  rank.Sweep(0, 100);
  EXPECT_EQ(rank.critical(send), 20);
  EXPECT_EQ(rank.critical(wait), 40);
  EXPECT_EQ(rank.critical(outer), 40);
}

TEST(CriticalPathSweep, CallerWithTheTimesOfItsOnlyCallHasNoTimeOfItsOwn) {
  Rank rank;
  const uint32_t caller = rank.Function(FunctionClass::kPython);
  const uint32_t callee = rank.Function(FunctionClass::kPython);
  rank.Ran(callee, kTraining, 20, 30).Ran(caller, kTraining, 20, 40).Ran(caller, kTraining, 10, 20);
  rank.Sweep(0, 100);
  EXPECT_EQ(rank.critical(callee), 10);
  EXPECT_EQ(rank.critical(caller), 20);
}

TEST(CriticalPathSweep, WhatReachesOutOfTheWindowIsCut) {
  Rank rank;
  const uint32_t kernel = rank.Function(FunctionClass::kGpuCompute);
  const uint32_t frame = rank.Function(FunctionClass::kPython);
  rank.Ran(kernel, kStream, 90, 130).Ran(kernel, kStream, 180, 250).Ran(frame, kTraining, 0, 1000);
  rank.Ran(kernel, kStream, 0, 10).Ran(kernel, kStream, 300, 310).Ran(kernel, kStream, 50, 100);
  const CriticalPathSweep& sweep = rank.Sweep(100, 200);
  EXPECT_EQ(sweep.totals(kernel).count, 2u);
  EXPECT_EQ(sweep.totals(kernel).total_ns, 50);
  EXPECT_EQ(sweep.totals(kernel).max_ns, 30);
  EXPECT_EQ(rank.critical(kernel), 50);
  EXPECT_EQ(rank.critical(frame), 50);
}

TEST(CriticalPathSweep, ZeroDurationsAreCountedAndHideNothing) {
  Rank rank;
  const uint32_t frame = rank.Function(FunctionClass::kPython);
  const uint32_t call = rank.Function(FunctionClass::kPython);
  const uint32_t reduce = rank.Function(FunctionClass::kCollective);
  rank.Ran(frame, kTraining, 0, 100).Ran(call, kTraining, 50, 50).Ran(reduce, 3, 60, 60);
  const CriticalPathSweep& sweep = rank.Sweep(0, 100);
  EXPECT_EQ(sweep.totals(call).count, 1u);
  EXPECT_EQ(sweep.totals(call).min_ns, 0);
  EXPECT_EQ(rank.critical(frame), 100);
  ASSERT_EQ(sweep.collectives().size(), 1u);
  EXPECT_EQ(sweep.collectives()[0].ticket, 3u);
  EXPECT_EQ(sweep.collectives()[0].gap_ns, 60);
}

TEST(CriticalPathSweep, PeerWaitIsTheUnionOfExposedCollectivesAndWaitingLeaves) {
  Rank rank;
  const uint32_t frame = rank.Function(FunctionClass::kPython);
  const uint32_t wait = rank.Function(FunctionClass::kPython, WaitKind::kPeer);
  const uint32_t reduce = rank.Function(FunctionClass::kCollective);
  const uint32_t kernel = rank.Function(FunctionClass::kGpuCompute);
  rank.Ran(frame, kTraining, 0, 200)
      .Ran(wait, kTraining, 20, 80)
      .Ran(reduce, 0, 30, 70)
      .Ran(kernel, kStream, 60, 75);
  rank.Ran(wait, kTraining, 90, 120).Ran(frame, kTraining, 95, 99);
  rank.Step(4, 0, 100).Step(5, 100, 200);
  const CriticalPathSweep& sweep = rank.Sweep(0, 200);
  ASSERT_EQ(sweep.steps().size(), 2u);
  // Step 4: waiting [20,30), collective [30,60), kernel until 75, waiting [75,80), [90,95), another
  // frame, [99,100).
  EXPECT_EQ(sweep.steps()[0], (StepRecord{4, 100, 10 + 30 + 5 + 5 + 1}));
  EXPECT_EQ(sweep.steps()[1], (StepRecord{5, 100, 20}));
  EXPECT_EQ(sweep.active_steps(wait), 2u);
  EXPECT_EQ(sweep.active_steps(kernel), 1u);
}

TEST(CriticalPathSweep, CollectivesKnowWhatRanBeforeThem) {
  Rank rank;
  const uint32_t frame = rank.Function(FunctionClass::kPython);
  const uint32_t sleep = rank.Function(FunctionClass::kPython);
  const uint32_t wait = rank.Function(FunctionClass::kPython, WaitKind::kPeer);
  const uint32_t reduce = rank.Function(FunctionClass::kCollective);
  rank.Ran(frame, kTraining, 0, 300).Ran(sleep, kTraining, 20, 90);
  rank.Ran(reduce, 11, 100, 150).Ran(reduce, 12, 140, 160);  // overlap: no gap
  rank.Ran(wait, kTraining, 160, 195)
      .Ran(reduce, 13, 200, 210);  // 35 of the gap are waiting, 5 the frame
  const auto& collectives = rank.Sweep(0, 300).collectives();
  ASSERT_EQ(collectives.size(), 3u);
  EXPECT_EQ(collectives[0].gap_ns, 100);
  EXPECT_EQ(collectives[0].before, sleep);
  EXPECT_EQ(collectives[0].before_ns, 70);
  EXPECT_EQ(collectives[0].exposed_ns, 50);
  EXPECT_EQ(collectives[1].gap_ns, 0);
  EXPECT_EQ(collectives[1].before, kNoFunction);
  EXPECT_EQ(collectives[2].gap_ns, 40);
  EXPECT_EQ(collectives[2].before, frame) << "waiting for peers explains nothing";
  EXPECT_EQ(collectives[2].before_ns, 5);
}

TEST(CriticalPathSweep, BackwardOnAnotherThreadLeavesCollectivesExposed) {
  // DistributedDataParallel on CPUs: the training thread sits in run_backward while gloo's threads
  // reduce.
  Rank rank;
  const uint32_t backward = rank.Function(FunctionClass::kPython);
  const uint32_t reduce = rank.Function(FunctionClass::kCollective);
  const uint32_t op = rank.Function(FunctionClass::kCpuOp);
  rank.Ran(backward, kTraining, 0, 100).Ran(op, kWorker, 0, 40).Ran(reduce, 0, 30, 95);
  const CriticalPathSweep& sweep = rank.Step(1, 0, 100).Sweep(0, 100, true);
  EXPECT_EQ(sweep.collectives()[0].exposed_ns, 55);
  EXPECT_EQ(rank.critical(backward), 5);
  EXPECT_EQ(sweep.steps()[0].peer_wait_ns, 55);
}

TEST(CriticalPathSweep, WhatRunsBesideAnAsynchronousOperationHasItsTime) {
  // A pipeline on CPUs: isend is under way until the next stage receives, and the rank computes.
  constexpr uint32_t kSend = kAsynchronousTicket | 7;
  Rank rank;
  const uint32_t layer = rank.Function(FunctionClass::kPython);
  const uint32_t wait = rank.Function(FunctionClass::kPython, WaitKind::kPeer);
  const uint32_t send = rank.Function(FunctionClass::kCollective);
  const uint32_t receive = rank.Function(FunctionClass::kCollective);
  rank.Ran(receive, 3, 0, 10).Ran(layer, kTraining, 10, 80).Ran(send, kSend, 20, 90);
  rank.Ran(wait, kTraining, 80, 90).Ran(layer, kTraining, 90, 100);
  for (const bool host_only : {true, false}) {
    const CriticalPathSweep& sweep = rank.Sweep(0, 100, host_only);
    EXPECT_EQ(rank.critical(layer), 80);
    EXPECT_EQ(rank.critical(wait), 10);
    EXPECT_EQ(rank.critical(send), 0);
    EXPECT_EQ(sweep.totals(send).total_ns, 70);
    ASSERT_EQ(sweep.collectives().size(), 2u);
    EXPECT_EQ(sweep.collectives()[1].exposed_ns, 10) << "it was waited for";
    EXPECT_EQ(sweep.collectives()[1].gap_ns, 10);
    EXPECT_EQ(sweep.collectives()[1].before, layer);
  }
}

TEST(CriticalPathSweep, NothingAtAll) {
  Rank rank;
  const CriticalPathSweep& sweep = rank.Sweep(0, 0);
  EXPECT_TRUE(sweep.functions().empty());
  EXPECT_TRUE(sweep.collectives().empty());
  EXPECT_TRUE(sweep.steps().empty());
}

}  // namespace
}  // namespace eroica
