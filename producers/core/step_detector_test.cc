#include "producers/core/step_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;

// Feeds a text of D, O, C (checkpoint begin), c (its end) and L (another thread loads), one event
// every 10 ms.
class StepDetectorTest : public ::testing::Test {
 protected:
  void Feed(std::string_view events) {
    for (const char event : events) {
      now_ns_ += 10 * kNsPerMs;
      if (event == 'D') detector_.DataloaderNext(now_ns_, &marks_);
      if (event == 'O') detector_.OptimizerStep(now_ns_, &marks_);
      if (event == 'C') detector_.SetPaused(true);
      if (event == 'c') detector_.SetPaused(false);
      if (event == 'L') detector_.LoadedElsewhere();
    }
  }
  void Repeat(int times, std::string_view events) {
    for (int i = 0; i < times; ++i) Feed(events);
  }
  // "b0@10" for a step that begins at 10 ms, e: ends, v and w: an evaluation begins and ends.
  std::vector<std::string> Marks() const {
    std::vector<std::string> text;
    for (const Mark& mark : marks_) {
      const char letter = mark.kind == MarkKind::kStepBegin         ? 'b'
                          : mark.kind == MarkKind::kStepEnd         ? 'e'
                          : mark.kind == MarkKind::kEvaluationBegin ? 'v'
                                                                    : 'w';
      text.push_back(letter + std::to_string(mark.id) + "@" +
                     std::to_string(mark.time_ns / kNsPerMs));
    }
    return text;
  }

  StepDetector detector_;
  std::vector<Mark> marks_;
  int64_t now_ns_ = 0;
};

TEST_F(StepDetectorTest, AStepIsFromTheFirstBatchToTheFirstBatchAfterTheOptimizer) {
  Feed("DODDOD");
  EXPECT_THAT(Marks(), ElementsAre("b0@10", "e0@30", "b1@30", "e1@60", "b2@60"));
}

TEST_F(StepDetectorTest, WhereAnotherThreadLoadsStepsGoFromOptimizerToOptimizer) {
  Feed("DLL");  // a first look at the data
  Repeat(10, "LO");
  EXPECT_EQ(detector_.step(), 0) << "as yet it may be a step of many optimizers";
  Repeat(20, "LO");
  EXPECT_EQ(detector_.step(), 20);
  Feed("DDDDD");  // an evaluation
  Repeat(20, "LO");
  EXPECT_EQ(detector_.step(), 40);
}

TEST_F(StepDetectorTest, AnotherThreadsBatchesDoNotDisturbALoopThatLoads) {
  Repeat(30, "LDLDOO");
  EXPECT_EQ(detector_.step(), 29);
}

TEST_F(StepDetectorTest, BatchesOfAThreadThatDoesNotTrainBeginTheFirstStepOnly) {
  Feed("DD");
  detector_.HasNoDataloader();
  Feed("OOO");
  EXPECT_THAT(Marks(), ElementsAre("b0@10", "e0@40", "b1@40", "e1@50", "b2@50"));
}

TEST_F(StepDetectorTest, AccumulatedGradientsAndTwoOptimizersAreOneStep) {
  Repeat(3, "DDDDOO");
  EXPECT_EQ(detector_.step(), 2);
}

// A process that takes a rank over counts on where the other ranks are.
TEST_F(StepDetectorTest, BeginsWithTheNumberThatItIsGiven) {
  StepDetector detector(120);
  EXPECT_FALSE(detector.has_begun());
  detector.DataloaderNext(10 * kNsPerMs, &marks_);
  EXPECT_TRUE(detector.has_begun());
  detector.OptimizerStep(20 * kNsPerMs, &marks_);
  detector.Step(30 * kNsPerMs, &marks_);
  EXPECT_THAT(Marks(), ElementsAre("b120@10", "e120@30", "b121@30"));
}

TEST_F(StepDetectorTest, WithoutADataLoaderItCountsOptimizerSteps) {
  Feed("OOO");
  EXPECT_THAT(Marks(), ElementsAre("b0@10", "e0@20", "b1@20", "e1@30", "b2@30"));
}

TEST_F(StepDetectorTest, LearnsFromTenEqualRuns) {
  Repeat(10, "DDO");
  EXPECT_FALSE(detector_.learnt());
  Feed("D");
  EXPECT_TRUE(detector_.learnt());
}

TEST_F(StepDetectorTest, MoreBatchesThanTheTemplateHasAreAnEvaluation) {
  Repeat(11, "DO");
  marks_.clear();
  Feed("DDDDOD");  // the evaluation's batches, then the next step's
  EXPECT_THAT(Marks(),
              ElementsAre("e10@230", "b11@230", "v11@240", "w11@280", "e11@280", "b12@280"));
}

TEST_F(StepDetectorTest, LearnsAnewWhenTheLoopHasChanged) {
  Repeat(11, "DO");
  Repeat(80, "DDDO");
  marks_.clear();
  Repeat(2, "DDDO");
  for (const std::string& mark : Marks()) EXPECT_TRUE(mark[0] == 'b' || mark[0] == 'e') << mark;
}

TEST_F(StepDetectorTest, TheScriptsOwnCountIsTheOnlyOne) {
  detector_.Step(5 * kNsPerMs, &marks_);
  Feed("DODO");
  detector_.Step(50 * kNsPerMs, &marks_);
  EXPECT_THAT(Marks(), ElementsAre("b0@5", "e0@50", "b1@50"));
}

// Steps of the given length, ten milliseconds a symbol being too coarse.
void Train(StepDetector& detector, int64_t* now_ns, int steps, int64_t step_ns) {
  std::vector<Mark> marks;
  for (int i = 0; i < steps; ++i) {
    detector.Step(*now_ns, &marks);
    *now_ns += step_ns;
  }
}

TEST_F(StepDetectorTest, TheLastStepEndsWithItsOptimizerOrNobodyKnowsWhen) {
  Feed("DODDO");
  now_ns_ += 500 * kNsPerMs;  // results are written, the interpreter ends
  detector_.Finish(&marks_);
  EXPECT_THAT(Marks(), ElementsAre("b0@10", "e0@30", "b1@30", "e1@50"));
  marks_.clear();
  Feed("D");
  detector_.Finish(&marks_);
  EXPECT_THAT(Marks(), ElementsAre("e1@560", "b2@560", "e2@560"));
}

// Lightning hands forward and backward pass to the optimizer, which runs them within its step.
TEST_F(StepDetectorTest, TheLastStepEndsWhenItsOptimizerHasEnded) {
  Feed("DO");
  detector_.MayEnd(60 * kNsPerMs);
  detector_.Finish(&marks_);
  EXPECT_THAT(Marks(), ElementsAre("b0@10", "e0@60"));
}

// The last of its steps would be its optimizer alone.
TEST_F(StepDetectorTest, ALoopThatStepsFromOptimizerToOptimizerEndsWithTheLast) {
  Feed("OOO");
  detector_.MayEnd(34 * kNsPerMs);
  detector_.Finish(&marks_);
  EXPECT_THAT(Marks(), ElementsAre("b0@10", "e0@20", "b1@20", "e1@30", "b2@30", "e2@30"));
}

// As LBFGS does.
TEST_F(StepDetectorTest, AnOptimizerThatRunsTheStepAsAClosureHasALastStep) {
  Feed("OOO");
  detector_.MayEnd(39 * kNsPerMs);
  detector_.Finish(&marks_);
  EXPECT_THAT(Marks(), ElementsAre("b0@10", "e0@20", "b1@20", "e1@30", "b2@30", "e2@39"));
}

TEST_F(StepDetectorTest, ALoopThatIsOnlyCountedHasNoLastStep) {
  detector_.Finish(&marks_);
  EXPECT_TRUE(marks_.empty()) << "there was no step at all";
  detector_.Step(10 * kNsPerMs, &marks_);
  detector_.Step(20 * kNsPerMs, &marks_);
  detector_.Finish(&marks_);
  EXPECT_THAT(Marks(), ElementsAre("b0@10", "e0@20", "b1@20", "e1@20"));
}

TEST_F(StepDetectorTest, SaysOnceThatTheRankHasBecomeSlow) {
  Train(detector_, &now_ns_, 301, 100 * kNsPerMs);
  EXPECT_EQ(detector_.Check(now_ns_), Degradation::kNone);
  Train(detector_, &now_ns_, 40, 104 * kNsPerMs);
  EXPECT_EQ(detector_.Check(now_ns_), Degradation::kNone);
  Train(detector_, &now_ns_, 51, 109 * kNsPerMs);
  EXPECT_EQ(detector_.Check(now_ns_), Degradation::kSlow);
  EXPECT_EQ(detector_.Check(now_ns_), Degradation::kNone);  // cool-down
  now_ns_ += StepDetector::kCoolDownNs;
  EXPECT_NE(detector_.Check(now_ns_), Degradation::kNone);
}

TEST_F(StepDetectorTest, ASingleFastStepMakesNoAlarm) {
  Train(detector_, &now_ns_, 301, 100 * kNsPerMs);
  Train(detector_, &now_ns_, 1, 20 * kNsPerMs);
  Train(detector_, &now_ns_, 100, 100 * kNsPerMs);
  EXPECT_EQ(detector_.Check(now_ns_), Degradation::kNone);
}

// Steps of a host that others use as well, and of batches of many lengths: their noise is no news.
TEST_F(StepDetectorTest, NoiseOfAHealthyJobMakesNoAlarm) {
  for (const uint32_t seed : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u}) {
    StepDetector detector;
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> of_a_step(0.8, 1.6);
    std::uniform_real_distribution<double> of_a_while(0.9, 1.1);
    double host = 1;
    int64_t now_ns = kNsPerSecond;
    for (int step = 0; step < 5'000; ++step) {
      if (step % 70 == 0) host = of_a_while(random);
      const double ms = 50 * host * of_a_step(random);
      Train(detector, &now_ns, 1, static_cast<int64_t>(ms * static_cast<double>(kNsPerMs)));
      ASSERT_EQ(detector.Check(now_ns), Degradation::kNone) << "seed " << seed << " step " << step;
    }
    Train(detector, &now_ns, 50, 150 * kNsPerMs);
    EXPECT_EQ(detector.Check(now_ns), Degradation::kSlow) << "seed " << seed;
  }
}

TEST_F(StepDetectorTest, SaysThatTheRankStopsAgainButNotInACheckpoint) {
  Train(detector_, &now_ns_, 30, 1'000 * kNsPerMs);
  EXPECT_EQ(detector_.Check(now_ns_ + 3'000 * kNsPerMs), Degradation::kNone);
  detector_.SetPaused(true);
  EXPECT_EQ(detector_.Check(now_ns_ + 9'000 * kNsPerMs), Degradation::kNone);
  detector_.SetPaused(false);
  for (const int64_t silent_ms : {9'000, 10'000, 60'000})
    EXPECT_EQ(detector_.Check(now_ns_ + silent_ms * kNsPerMs), Degradation::kNone) << "once";
  now_ns_ += 60 * kNsPerSecond;
  Train(detector_, &now_ns_, 900, 1'000 * kNsPerMs);
  EXPECT_EQ(detector_.Check(now_ns_ + 9'000 * kNsPerMs), Degradation::kBlocked);
}

TEST_F(StepDetectorTest, StopsThatAreFarApartAreNoReason) {
  for (int stop = 0; stop < 3; ++stop) {
    Train(detector_, &now_ns_, 1'100, 1'000 * kNsPerMs);
    now_ns_ += 60 * kNsPerSecond;
    EXPECT_EQ(detector_.Check(now_ns_), Degradation::kNone);
  }
}

TEST_F(StepDetectorTest, ACheckpointsStepIsNotMeasured) {
  Train(detector_, &now_ns_, 20, 100 * kNsPerMs);
  detector_.SetPaused(true);
  Train(detector_, &now_ns_, 1, 60'000 * kNsPerMs);
  detector_.SetPaused(false);
  Train(detector_, &now_ns_, 20, 100 * kNsPerMs);
  EXPECT_EQ(detector_.mean_step_ns(), 100 * kNsPerMs);
}

TEST_F(StepDetectorTest, ABrokenStampIsCountedAndNotMeasured) {
  Train(detector_, &now_ns_, 60, 100 * kNsPerMs);
  const int64_t step = detector_.step();
  for (const int64_t broken_ns :
       {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), int64_t{0}}) {
    detector_.Step(broken_ns, &marks_);
    EXPECT_EQ(detector_.Check(now_ns_), Degradation::kNone);
  }
  EXPECT_EQ(detector_.step(), step + 3);
  EXPECT_EQ(detector_.mean_step_ns(), 100 * kNsPerMs);
}

}  // namespace
}  // namespace eroica
