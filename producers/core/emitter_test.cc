#include "producers/core/emitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "schemas/capture_gap.h"
#include "schemas/codec.h"
#include "schemas/invariants.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

class CollectingSink final : public BatchSink {
 public:
  absl::Status Write(const EventBatch& batch) override {
    EXPECT_EQ(CheckInvariants(batch), DropReason::kNone);
    if (!status.ok()) return status;
    batches.push_back(batch);
    return absl::OkStatus();
  }
  std::vector<EventBatch> batches;
  absl::Status status;
};

class EmitterTest : public ::testing::Test {
 protected:
  EmitterTest() { Restart(CaptureLevel::kEvents); }

  void Restart(CaptureLevel level) {
    ProducerIdentity identity;
    identity.job = JobId{"job"};
    identity.rank = RankId{1};
    identity.world_size = 4;
    emitter_ = std::make_unique<Emitter>(
        &state_, EmitterOptions{.identity = identity, .level = level}, &sink_);
    ring_ = state_.rings->Claim(1);
  }
  uint32_t Function(const char* name, FunctionClass function_class = FunctionClass::kPython,
                    uint32_t parent = kNoParent) {
    bool full = false;
    return state_.names.Function(name, function_class, WaitKind::kNone, parent, &full);
  }
  void Interval(int64_t start_ns, int64_t end_ns, uint32_t function, uint8_t lane = 0) {
    ASSERT_TRUE(
        ring_->Push(std::array{RingSlot{.a = start_ns, .b = end_ns, .c = function, .e = lane}}));
  }
  void PushMark(int64_t time_ns, MarkKind kind, int64_t id = 0) {
    ASSERT_TRUE(ring_->Push(std::array{RingSlot{
        .a = time_ns, .b = id, .e = static_cast<uint8_t>(kind), .kind = SlotKind::kMark}}));
  }
  EventBatch SendAll(int64_t now_ns) {
    sink_.batches.clear();
    emitter_->Tick(now_ns);
    emitter_->Tick(now_ns + kNsPerSecond);
    return sink_.batches.empty() ? EventBatch{} : sink_.batches.back();
  }

  CoreState state_{RingPool::Make()};
  CollectingSink sink_;
  std::unique_ptr<Emitter> emitter_;
  EventRing* ring_ = nullptr;
};

TEST_F(EmitterTest, ThePlaceIsTheStepAndTheFunctionOfTheTrainingThread) {
  EXPECT_EQ(emitter_->Place(5).step, -1);
  const uint32_t main = Function("train.py(1): main");
  const uint32_t step = Function("train.py(7): step", FunctionClass::kPython, main);
  state_.training_function = Function("data.py(9): load", FunctionClass::kPython, step);
  state_.device = 3;
  PushMark(1'000, MarkKind::kStepBegin, 41);
  emitter_->Tick(2'000);
  const RankStanding place = emitter_->Place(3'000);
  EXPECT_EQ(place.job, JobId{"job"});
  EXPECT_EQ(place.rank, RankId{1});
  EXPECT_EQ(place.world_size, 4u);
  EXPECT_EQ(place.device, 3);
  EXPECT_EQ(place.step, emitter_->step());
  EXPECT_EQ(place.time_ns, 3'000);
  EXPECT_EQ(place.last_progress_ns, 2'000);
  EXPECT_EQ(place.function, "data.py(9): load");
  EXPECT_EQ(place.stack, "train.py(1): main > train.py(7): step");
  EXPECT_EQ(place.window_kind, WindowKind::kTime) << "nobody asked for windows of steps";
  Bytes payload;
  EXPECT_EQ(Encoder().TryEncode(place, &payload), DropReason::kNone);
}

TEST_F(EmitterTest, EventsComeByStartWithOnlyTheNamesThatTheyUse) {
  state_.names.LaneOf("main", LaneKind::kTrainingThread);
  const uint32_t unused = Function("unused");
  const uint32_t caller = Function("main.py: main");
  const uint32_t leaf = Function("main.py: train", FunctionClass::kPython, caller);
  EXPECT_NE(unused, leaf);
  Interval(20 * kNsPerSecond, 21 * kNsPerSecond, leaf);
  Interval(10 * kNsPerSecond, 30 * kNsPerSecond, caller);
  const EventBatch batch = SendAll(31 * kNsPerSecond);
  EXPECT_THAT(batch.intervals.start_ns, ElementsAre(10 * kNsPerSecond, 20 * kNsPerSecond));
  ASSERT_THAT(batch.functions, SizeIs(2));
  EXPECT_EQ(batch.functions[batch.intervals.function[1]].name, "main.py: train");
  EXPECT_EQ(batch.functions[batch.functions[batch.intervals.function[1]].parent].name,
            "main.py: main");
  EXPECT_EQ(batch.identity.rank, RankId{1});
  EXPECT_TRUE(batch.identity.host_only);
}

TEST_F(EmitterTest, WhateverAProducerSaysEveryBatchKeepsItsInvariants) {
  std::mt19937_64 random(7);
  const int64_t wild[] = {0,
                          1,
                          -1,
                          kNsPerSecond,
                          std::numeric_limits<int64_t>::max(),
                          std::numeric_limits<int64_t>::min(),
                          int64_t{1} << 62};
  state_.names.LaneOf("main", LaneKind::kTrainingThread);
  state_.names.CommunicatorOf({CommId{1}, "outside", "", 2, {3, 9}});
  const auto any = [&] {
    return random() % 3 == 0 ? static_cast<int64_t>(random()) : wild[random() % std::size(wild)];
  };
  for (int i = 0; i < 20'000; ++i) {
    const RingSlot slot{.a = any(),
                        .b = any(),
                        .c = static_cast<uint32_t>(random() % 2 == 0 ? random() : random() % 4),
                        .d = static_cast<uint16_t>(random() % 2 == 0 ? random() : 0),
                        .e = static_cast<uint8_t>(random() % 2 == 0 ? random() : random() % 12),
                        .kind = static_cast<SlotKind>(random() % 6)};
    ring_->Push(std::array{slot});
    if (i % 1'000 == 0) emitter_->Tick(i * kNsPerSecond);
  }
  emitter_->Finish(30'000 * kNsPerSecond);
  EXPECT_GT(state_.losses.total() + sink_.batches.size(),
            0u);  // Write has held each batch against the invariants
}

TEST_F(EmitterTest, ABatchThatIsNotTakenIsCountedAndItsCountGoesWithTheNext) {
  state_.names.LaneOf("main", LaneKind::kTrainingThread);
  const uint32_t function = Function("f");
  sink_.status = absl::ResourceExhaustedError("full");
  for (int i = 0; i < 3; ++i) Interval(kNsPerSecond + i, kNsPerSecond + i + 1, function);
  SendAll(2 * kNsPerSecond);
  EXPECT_FALSE(emitter_->last_error().ok());
  sink_.status = absl::OkStatus();
  Interval(5 * kNsPerSecond, 6 * kNsPerSecond, function);
  const EventBatch batch = SendAll(7 * kNsPerSecond);
  EXPECT_EQ(batch.sequence, 0u);  // the lost batch took no number
  EXPECT_THAT(batch.losses, Contains(LossEntry{EventKind::kInterval, DropReason::kQueueFull, 3}));
}

TEST_F(EmitterTest, MoreEventsThanABatchHoldsMakeSeveral) {
  state_.names.LaneOf("main", LaneKind::kTrainingThread);
  const uint32_t function = Function("f");
  for (int i = 0; i < 10'000; ++i)
    Interval(kNsPerSecond + 2 * i, kNsPerSecond + 2 * i + 1, function);
  PushMark(kNsPerSecond + 5, MarkKind::kStepBegin);
  emitter_->Tick(2 * kNsPerSecond);
  ASSERT_THAT(sink_.batches, SizeIs(2));
  EXPECT_EQ(sink_.batches[0].intervals.size() + sink_.batches[1].intervals.size(), 10'000u);
  EXPECT_THAT(sink_.batches[0].marks, ElementsAre(Mark{kNsPerSecond + 5, MarkKind::kStepBegin, 0}));
  EXPECT_EQ(sink_.batches[1].sequence, 1u);
}

TEST_F(EmitterTest, ARankThatStandsStillSaysWhereOnceASecond) {
  state_.names.CommunicatorOf({CommId{1}, "world", "", 4, {}});
  const uint32_t waiting = Function("ring.py: recv");
  PushMark(kNsPerSecond, MarkKind::kStepBegin);
  emitter_->Tick(2 * kNsPerSecond);
  state_.training_function.store(waiting);
  state_.flights.Launch({.operation = CollectiveOperation::kAllReduce,
                         .sequence = 7,
                         .launched_ns = 2 * kNsPerSecond});
  emitter_->Tick(3 * kNsPerSecond);
  sink_.batches.clear();
  for (int64_t now_ns = 3 * kNsPerSecond; now_ns <= 6 * kNsPerSecond; now_ns += kNsPerSecond / 10)
    emitter_->Tick(now_ns);
  std::vector<ProgressReport> reports;
  for (const EventBatch& batch : sink_.batches) {
    for (const ProgressReport& report : batch.progress) {
      EXPECT_EQ(batch.functions[report.function].name, "ring.py: recv");
      reports.push_back(report);
    }
  }
  ASSERT_GE(reports.size(), 2u);
  EXPECT_LE(reports.size(), 3u);
  EXPECT_EQ(reports[0].step, 0);
  ASSERT_THAT(reports[0].in_flight, SizeIs(1));
  EXPECT_EQ(reports[0].in_flight[0].sequence, 7u);
}

TEST_F(EmitterTest, ACaptureWindowBeginsAndEndsWithItsSteps) {
  Restart(CaptureLevel::kCollectives);
  state_.names.LaneOf("main", LaneKind::kTrainingThread);
  const uint32_t function = Function("f");
  ASSERT_TRUE(emitter_->AddCapture({.capture_level = CaptureLevel::kEvents,
                                    .first_step = 3,
                                    .last_step = 4,
                                    .requester = "test"},
                                   kNsPerSecond));
  for (int64_t step = 0; step < 8; ++step) {
    const int64_t begin_ns = (10 + step) * kNsPerSecond;
    PushMark(begin_ns, MarkKind::kStepBegin);
    emitter_->Tick(begin_ns + 1);  // the gate is set in between
    Interval(begin_ns + 2, begin_ns + 3, function);
    emitter_->Tick(begin_ns + 4);
  }
  emitter_->Finish(20 * kNsPerSecond);
  std::vector<int64_t> kept;
  for (const EventBatch& batch : sink_.batches) {
    kept.insert(kept.end(), batch.intervals.start_ns.begin(), batch.intervals.start_ns.end());
  }
  EXPECT_THAT(kept, ElementsAre(13 * kNsPerSecond + 2, 14 * kNsPerSecond + 2));
  EXPECT_FALSE(state_.full_trace.load());
}

// A window knows of it however long ago it began, and whatever was lost or cut off before.
TEST_F(EmitterTest, ASuspendedCaptureIsSaidInEveryStepUntilItIsResumed) {
  const int64_t collectives = CaptureGap{CaptureKind::kCollectives, 5}.mark_id();
  const auto step = [this](int64_t second) {
    PushMark(second * kNsPerSecond, MarkKind::kStepBegin);
    sink_.batches.clear();
    emitter_->Tick(second * kNsPerSecond + 1);
    return sink_.batches.empty() ? std::vector<Mark>() : sink_.batches.front().marks;
  };
  step(10);
  PushMark(11 * kNsPerSecond, MarkKind::kCaptureSuspended, collectives);
  PushMark(12 * kNsPerSecond, MarkKind::kCaptureSuspended, 0);
  emitter_->Tick(12 * kNsPerSecond + 1);
  emitter_->Tick(14 * kNsPerSecond);
  ASSERT_FALSE(sink_.batches.back().progress.empty());
  EXPECT_TRUE(sink_.batches.back().progress.back().collectives_suspended);
  for (const int64_t second : {20, 30}) {
    const int64_t begin_ns = second * kNsPerSecond;
    EXPECT_THAT(step(second),
                IsSupersetOf({Mark{begin_ns, MarkKind::kCaptureSuspended, 0},
                              Mark{begin_ns, MarkKind::kCaptureSuspended, collectives}}));
  }
  PushMark(31 * kNsPerSecond, MarkKind::kCaptureResumed, collectives);
  emitter_->Tick(31 * kNsPerSecond + 1);
  EXPECT_THAT(step(40), AllOf(Contains(Mark{40 * kNsPerSecond, MarkKind::kCaptureSuspended, 0}),
                              Not(Contains(Field(&Mark::id, collectives)))));
}

// Windows are of time then: each must know of it.
TEST_F(EmitterTest, WithoutStepsASuspendedCaptureIsSaidOnceASecond) {
  const int64_t processes = CaptureGap{CaptureKind::kProcesses, 3}.mark_id();
  PushMark(10 * kNsPerSecond, MarkKind::kCaptureSuspended, processes);
  emitter_->Tick(10 * kNsPerSecond + 1);
  std::vector<int64_t> times;
  for (int64_t tenth = 101; tenth <= 160; ++tenth) emitter_->Tick(tenth * kNsPerSecond / 10);
  for (const EventBatch& batch : sink_.batches) {
    for (const Mark& mark : batch.marks) {
      if (mark.id == processes) times.push_back(mark.time_ns / kNsPerSecond);
    }
  }
  EXPECT_THAT(times, SizeIs(testing::AllOf(testing::Ge(6u), testing::Le(8u))));
  EXPECT_EQ(times.back(), 15);
}

// As eroica_mark does, of two threads that have a ring each.
class EmitterOfThreadsTest : public EmitterTest {
 protected:
  void MarkOf(ThreadSigns& thread, MarkKind kind) {
    now_ns_ += kNsPerMs;
    if (const auto sign = SignOf(kind)) state_.trainer.Take(thread, *sign, now_ns_);
    EventRing* const ring = &thread == &main_ ? ring_ : other_ring_;
    ASSERT_TRUE(ring->Push(
        std::array{RingSlot{.a = now_ns_,
                            .c = static_cast<uint32_t>(thread.thread),
                            .d = static_cast<uint16_t>(state_.trainer.Marking(thread, kind)),
                            .e = static_cast<uint8_t>(kind),
                            .kind = SlotKind::kMark}}));
  }
  void Load(ThreadSigns& thread) { MarkOf(thread, MarkKind::kDataloaderNext); }
  void Train(ThreadSigns& thread) {
    MarkOf(thread, MarkKind::kBackwardBegin);
    MarkOf(thread, MarkKind::kOptimizerStep);
  }
  // Two batches ahead, now and then three: runs of batches and optimizer steps differ.
  void LoadAheadAndTrain(int steps) {
    Load(other_);
    for (int step = 0; step < steps; ++step) {
      if (step % 7 != 3) Load(other_);
      Train(main_);
      if (step % 7 == 3) Load(other_);
      if (step % 5 == 0) emitter_->Tick(now_ns_);
    }
    emitter_->Tick(now_ns_);
  }
  // The kinds of marks that went out.
  std::vector<MarkKind> Sent() {
    emitter_->Finish(now_ns_ + 1);
    std::vector<MarkKind> kinds;
    for (const EventBatch& batch : sink_.batches) {
      for (const Mark& mark : batch.marks) kinds.push_back(mark.kind);
    }
    return kinds;
  }

  ThreadSigns main_{.thread = ::getpid()};
  ThreadSigns other_{.thread = ::getpid() + 1};
  EventRing* const other_ring_ = state_.rings->Claim(2);
  int64_t now_ns_ = kNsPerSecond;
};

TEST_F(EmitterOfThreadsTest, BatchesThatAThreadLoadsAheadAreNoSteps) {
  LoadAheadAndTrain(60);
  EXPECT_EQ(emitter_->step(), 59) << "one for each step of the optimizer";
}

TEST_F(EmitterOfThreadsTest, TheFirstBatchesOfAThreadThatLoadsAheadAreNoStepEither) {
  Load(other_);
  emitter_->Tick(now_ns_);  // as far as anybody knows, the other thread trains
  EXPECT_EQ(emitter_->step(), 0);
  LoadAheadAndTrain(60);
  EXPECT_EQ(emitter_->step(), 59);
}

TEST_F(EmitterOfThreadsTest, AThreadThatTrainsMakesTheStepsWhateverMainHasLoaded) {
  Load(main_);  // a first look
  for (int step = 0; step < 30; ++step) {
    Load(other_);
    Load(other_);
    Train(other_);
    if (step % 4 == 0) emitter_->Tick(now_ns_);
  }
  emitter_->Tick(now_ns_);
  EXPECT_EQ(emitter_->step(), 29);
}

TEST_F(EmitterOfThreadsTest, TheEnginesThreadStepsTheOptimizersOfTheOneThatTrains) {
  for (int step = 0; step < 30; ++step) {
    Load(main_);
    MarkOf(main_, MarkKind::kBackwardBegin);
    emitter_->Tick(now_ns_);
    MarkOf(other_, MarkKind::kOptimizerStep);
    emitter_->Tick(now_ns_);
  }
  EXPECT_EQ(emitter_->step(), 29);
}

TEST_F(EmitterOfThreadsTest, OptimizersOfAnotherThreadAreNoSteps) {
  for (int step = 0; step < 30; ++step) {
    Load(main_);
    Train(main_);
    MarkOf(other_, MarkKind::kOptimizerStep);
  }
  emitter_->Tick(now_ns_);
  EXPECT_EQ(emitter_->step(), 29);
}

// Readers take a rank that saves for one that does not train.
TEST_F(EmitterOfThreadsTest, WhatAnotherThreadSavesIsNoPause) {
  Load(main_);
  Train(main_);
  MarkOf(other_, MarkKind::kCheckpointBegin);
  Load(main_);
  Train(main_);
  MarkOf(other_, MarkKind::kCheckpointEnd);
  EXPECT_THAT(Sent(), AllOf(Not(Contains(MarkKind::kCheckpointBegin)),
                            Not(Contains(MarkKind::kCheckpointEnd))));
}

TEST_F(EmitterOfThreadsTest, APauseEndsWithItsThreadWhichNeedNoLongerTrain) {
  Load(main_);
  MarkOf(main_, MarkKind::kEvaluationBegin);
  Load(other_);
  Train(other_);
  MarkOf(main_, MarkKind::kEvaluationEnd);
  EXPECT_THAT(Sent(),
              AllOf(Contains(MarkKind::kEvaluationBegin), Contains(MarkKind::kEvaluationEnd)));
}

TEST_F(EmitterTest, TheLastBatchIsFinalEvenWhenEmpty) {
  emitter_->Finish(kNsPerSecond);
  ASSERT_THAT(sink_.batches, SizeIs(1));
  EXPECT_TRUE(sink_.batches[0].final);
}

}  // namespace
}  // namespace eroica
