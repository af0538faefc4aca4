#include "producers/core/trainer.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
using Sign = TrainingSign;

class TrainerTest : public ::testing::Test {
 protected:
  void Step(ThreadSigns& thread, Sign sign, int64_t ns = kSecond) {
    trainer_.Take(thread, sign, now_ns_ += ns);
  }
  // Takes a batch, runs back and steps its optimizer.
  void Train(ThreadSigns& thread, int steps, int64_t ns = kSecond / 4) {
    for (int i = 0; i < steps; ++i) {
      Step(thread, Sign::kBatch, ns);
      Step(thread, Sign::kBackward, ns);
      Step(thread, Sign::kOptimizer, ns);
    }
  }

  Trainer trainer_{100};
  int64_t now_ns_ = 1'000 * kSecond;
  ThreadSigns main_{.thread = 100};
  ThreadSigns other_{.thread = 101};
  ThreadSigns third_{.thread = 102};
};

TEST_F(TrainerTest, IsTheMainThreadUntilSomebodyTrains) {
  EXPECT_EQ(trainer_.Read(), (Trainer::Thread{.thread = 100, .number = 0}));
  EXPECT_TRUE(trainer_.Is(main_));
  EXPECT_FALSE(trainer_.Is(other_));
}

TEST_F(TrainerTest, IsTheFirstThreadThatTrains) {
  Step(other_, Sign::kBatch);
  EXPECT_EQ(trainer_.Read().thread, 101);
  EXPECT_TRUE(trainer_.Is(other_));
  EXPECT_FALSE(trainer_.Is(main_));
}

TEST_F(TrainerTest, AThreadThatLoadsAheadDoesNotTrain) {
  Step(other_, Sign::kBatch);
  Step(main_, Sign::kBackward);
  for (int i = 0; i < 100; ++i) {
    Step(other_, Sign::kBatch);
    EXPECT_TRUE(trainer_.Is(main_));
    Step(main_, Sign::kBackward);
    Step(main_, Sign::kOptimizer);
  }
}

// Optimizers that step as soon as a gradient is there run on a thread of the autograd engine.
TEST_F(TrainerTest, TheEnginesThreadDoesNotTrain) {
  for (int i = 0; i < 20; ++i) {
    Step(main_, Sign::kBackward);
    for (int layer = 0; layer < 30; ++layer) Step(other_, Sign::kOptimizer, kSecond / 10);
    EXPECT_TRUE(trainer_.Is(main_));
  }
}

TEST_F(TrainerTest, OfTwoThatTrainTheFirstOneStays) {
  Train(other_, 1);
  for (int i = 0; i < 50; ++i) {
    Train(third_, 2);
    EXPECT_TRUE(trainer_.Is(other_));
    Train(other_, 2);
  }
}

TEST_F(TrainerTest, StepsThatAScriptCountsWeighMost) {
  Train(main_, 5);
  Step(other_, Sign::kStep);
  EXPECT_TRUE(trainer_.Is(other_));
  Train(main_, 5);
  EXPECT_TRUE(trainer_.Is(other_));
}

TEST_F(TrainerTest, MovesWhenAnotherOneBeginsAndTheOldOneDoesNot) {
  Train(main_, 5);
  Train(other_, 12);  // 9 seconds
  EXPECT_TRUE(trainer_.Is(main_));
  Train(other_, 4);
  EXPECT_TRUE(trainer_.Is(other_));
  // What the main thread did before counts no longer: it only evaluates now.
  Step(main_, Sign::kBatch);
  EXPECT_TRUE(trainer_.Is(other_));
}

TEST_F(TrainerTest, LongStepsAreNoSilence) {
  for (int i = 0; i < 3; ++i) Train(main_, 1, 20 * kSecond);
  for (int i = 0; i < 50; ++i) Step(other_, Sign::kBatch);
  EXPECT_TRUE(trainer_.Is(main_));
  for (int i = 0; i < 11; ++i) Step(other_, Sign::kBatch);
  EXPECT_TRUE(trainer_.Is(other_));
}

TEST_F(TrainerTest, AThreadThatHasEndedMakesWay) {
  Train(other_, 5);
  const Trainer::Thread ended = trainer_.Read();
  trainer_.Ended(ended.number);
  EXPECT_TRUE(trainer_.Is(main_));
  Step(third_, Sign::kBatch);
  EXPECT_TRUE(trainer_.Is(third_));
  trainer_.Ended(ended.number);  // seen by two
  EXPECT_TRUE(trainer_.Is(third_));
}

TEST_F(TrainerTest, AThreadThatGetsAnothersIdIsAnotherThread) {
  Train(other_, 5);
  ThreadSigns reused{.thread = 101};
  EXPECT_FALSE(trainer_.Is(reused));
  const Trainer::Thread before = trainer_.Read();
  Train(reused, 20);
  EXPECT_TRUE(trainer_.Is(reused));
  EXPECT_EQ(trainer_.Read().thread, before.thread);
  EXPECT_NE(trainer_.Read().number, before.number);
}

TEST_F(TrainerTest, SaysOfEachMarkWhetherItsThreadTrains) {
  // The script's thread loads ahead: as far as anybody knows, it trains.
  Step(other_, Sign::kBatch);
  EXPECT_EQ(trainer_.Marking(other_, MarkKind::kDataloaderNext), MarkedBy::kLoader);
  EXPECT_EQ(trainer_.Marking(third_, MarkKind::kCheckpointBegin), MarkedBy::kOther);
  Step(main_, Sign::kBackward);
  EXPECT_EQ(trainer_.Marking(other_, MarkKind::kDataloaderNext), MarkedBy::kOther);
  // The engine's thread.
  EXPECT_EQ(trainer_.Marking(other_, MarkKind::kOptimizerStep), MarkedBy::kTrainerWithoutBatches);
  Step(main_, Sign::kOptimizer);
  EXPECT_EQ(trainer_.Marking(other_, MarkKind::kOptimizerStep), MarkedBy::kOther);
  EXPECT_EQ(trainer_.Marking(main_, MarkKind::kOptimizerStep), MarkedBy::kTrainerWithoutBatches);
  Step(main_, Sign::kBatch);
  EXPECT_EQ(trainer_.Marking(main_, MarkKind::kOptimizerStep), MarkedBy::kTrainer);
}

TEST_F(TrainerTest, MarksThatAreSigns) {
  EXPECT_EQ(SignOf(MarkKind::kStepBegin), Sign::kStep);
  EXPECT_EQ(SignOf(MarkKind::kBackwardBegin), Sign::kBackward);
  EXPECT_EQ(SignOf(MarkKind::kOptimizerStep), Sign::kOptimizer);
  EXPECT_EQ(SignOf(MarkKind::kDataloaderNext), Sign::kBatch);
  EXPECT_EQ(SignOf(MarkKind::kForwardBegin), std::nullopt) << "evaluation has them, too";
}

}  // namespace
}  // namespace eroica
