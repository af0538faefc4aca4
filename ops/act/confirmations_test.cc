#include "ops/act/confirmations.h"

#include <gtest/gtest.h>

#include "ops/findings/testing/findings_topic.h"

namespace eroica {
namespace {

class ConfirmationsTest : public ::testing::Test {
 protected:
  void Say(std::initializer_list<int64_t> windows) {
    for (const int64_t window : windows)
      confirmations_.Take(0, FindingOf("a", FindingState::kUpdated, Severity::kMajor, window));
  }
  Confirmations confirmations_;
};

TEST_F(ConfirmationsTest, CountsWindowsInARowAndOfLate) {
  EXPECT_EQ(confirmations_.InARow("a"), 0);
  Say({1, 2, 4, 5, 5, 6});
  EXPECT_EQ(confirmations_.InARow("a"), 3) << "a second copy is no second window";
  EXPECT_EQ(confirmations_.Within("a", 3), 3);
  EXPECT_EQ(confirmations_.Within("a", 4), 3);
  EXPECT_EQ(confirmations_.Within("a", 6), 5);
  EXPECT_EQ(confirmations_.Within("b", 6), 0);
}

TEST_F(ConfirmationsTest, AFindingThatIsResolvedBeginsAnew) {
  Say({1, 2, 3});
  confirmations_.Take(0, FindingOf("a", FindingState::kResolved, Severity::kMajor, 5));
  EXPECT_EQ(confirmations_.InARow("a"), 0);
  Say({7});
  EXPECT_EQ(confirmations_.InARow("a"), 1);
}

TEST_F(ConfirmationsTest, OfAPartitionThatGoesNothingIsKept) {
  Say({1});
  confirmations_.Forget(1);
  EXPECT_EQ(confirmations_.InARow("a"), 1);
  confirmations_.Forget(0);
  EXPECT_EQ(confirmations_.InARow("a"), 0);
}

TEST_F(ConfirmationsTest, TheNumberOfFindingsIsBounded) {
  Say({1});
  for (size_t i = 0; i < Confirmations::kFindingsMax; ++i)
    confirmations_.Take(0, FindingOf(std::to_string(i), FindingState::kOpened));
  EXPECT_EQ(confirmations_.InARow("a"), 0) << "heard of longest ago";
  EXPECT_EQ(confirmations_.InARow("0"), 1);
}

}  // namespace
}  // namespace eroica
