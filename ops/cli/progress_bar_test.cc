#include "ops/cli/progress_bar.h"

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

namespace eroica {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const ProgressBar::TimePoint kStart{};

TEST(ProgressBar, StaysSilentForTheFirstSecond) {
  std::ostringstream out;
  {
    ProgressBar bar(&out, "importing", kStart);
    bar.Update(10, 100, kStart + milliseconds(999));
  }
  EXPECT_EQ(out.str(), "");
}

TEST(ProgressBar, ShowsShareAndTimeLeft) {
  std::ostringstream out;
  ProgressBar bar(&out, "importing", kStart);
  bar.Update(50, 200, kStart + seconds(2));
  EXPECT_EQ(out.str(), "\rimporting [#######.......................]  25 %  6 s left");
}

TEST(ProgressBar, RedrawsAtABoundedRate) {
  std::ostringstream out;
  ProgressBar bar(&out, "importing", kStart);
  bar.Update(10, 100, kStart + seconds(1));
  const std::string first = out.str();
  bar.Update(20, 100, kStart + seconds(1) + milliseconds(99));
  EXPECT_EQ(out.str(), first);
  bar.Update(30, 100, kStart + seconds(1) + milliseconds(100));
  EXPECT_NE(out.str(), first);
}

TEST(ProgressBar, WipesWhatItDrew) {
  std::ostringstream out;
  {
    ProgressBar bar(&out, "x", kStart);
    bar.Update(0, 0, kStart + seconds(12));
  }
  EXPECT_EQ(out.str(), "\rx 12 s\r      \r");
}

TEST(ProgressBar, AShorterLineLeavesNothingOfALongerOne) {
  std::ostringstream out;
  ProgressBar bar(&out, "x", kStart);
  bar.Update(1, 1000, kStart + seconds(10));  // "9990 s left"
  out.str("");
  bar.Update(900, 1000, kStart + seconds(11));  // "1 s left"
  EXPECT_EQ(out.str(), "\rx [###########################...]  90 %  1 s left   ");
}

TEST(ProgressBar, DoneBeyondTheTotalIsFull) {
  std::ostringstream out;
  ProgressBar bar(&out, "x", kStart);
  bar.Update(11, 10, kStart + seconds(1));
  EXPECT_EQ(out.str(), "\rx [##############################] 100 %  0 s left");
}

TEST(ProgressBar, NobodyLooksOn) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    ProgressBar bar(nullptr, "x", kStart);
    bar.Update(5, 10, kStart + seconds(5));
    bar.Clear();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace eroica
