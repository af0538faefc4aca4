#include "diagnosis/report/duration_text.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(DurationText, HasThreeDigitsAndTheUnitThatFits) {
  EXPECT_EQ(DurationText(0), "0");
  EXPECT_EQ(DurationText(12), "12 ns");
  EXPECT_EQ(DurationText(1'500), "1.50 us");
  EXPECT_EQ(DurationText(870e3), "870 us");
  EXPECT_EQ(DurationText(999.6e3), "1.00 ms");
  EXPECT_EQ(DurationText(36.34e6), "36.3 ms");
  EXPECT_EQ(DurationText(1.534e9), "1.53 s");
  EXPECT_EQ(DurationText(75e9), "75.0 s");
  EXPECT_EQ(DurationText(-36.34e6), "-36.3 ms");
}

TEST(SpeedText, HasTheUnitThatFits) {
  EXPECT_EQ(SpeedText(0.0348), "34.8 MB/s");
  EXPECT_EQ(SpeedText(12), "12 GB/s");
  EXPECT_EQ(SpeedText(2.5e-6), "2.5 kB/s");
  EXPECT_EQ(BytesText(17), "17 bytes");
  EXPECT_EQ(BytesText(0), "0 bytes");
  EXPECT_EQ(BytesText(999.6e6), "1 GB");
}

TEST(PercentText, HasTwoDigitsThatMean) {
  EXPECT_EQ(PercentText(0.034), "3.4 %");
  EXPECT_EQ(PercentText(0.337), "34 %");
  EXPECT_EQ(PercentText(1), "100 %");
}

}  // namespace
}  // namespace eroica
