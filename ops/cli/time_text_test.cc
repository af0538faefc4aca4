#include "ops/cli/time_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace eroica {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNow = 1'764'000'000'000;

int64_t Parse(std::string_view text) {
  const absl::StatusOr<int64_t> time = ParseTimeMs(text, kNow);
  EXPECT_TRUE(time.ok()) << time.status();
  return time.value_or(-1);
}

TEST(TimeText, UnderstandsDatesInUtcUnlessAZoneIsNamed) {
  EXPECT_EQ(TimeText(Parse("2026-11-24T10:00:00Z")), "2026-11-24T10:00:00.000Z");
  EXPECT_EQ(TimeText(Parse("2026-11-24T10:00:00.25+02:00")), "2026-11-24T08:00:00.250Z");
  EXPECT_EQ(TimeText(Parse("2026-11-24T10:00")), "2026-11-24T10:00:00.000Z");
  EXPECT_EQ(TimeText(Parse("2026-11-24 10:00:01")), "2026-11-24T10:00:01.000Z");
  EXPECT_EQ(TimeText(Parse("2026-11-24 10:00")), "2026-11-24T10:00:00.000Z");
  EXPECT_EQ(TimeText(Parse("2026-11-24")), "2026-11-24T00:00:00.000Z");
  EXPECT_EQ(TimeText(Parse("0184-06-09")), "0184-06-09T00:00:00.000Z") << "a year has four digits";
}

TEST(TimeText, UnderstandsHowLongAgoAndMilliseconds) {
  EXPECT_EQ(Parse("90s"), kNow - 90'000);
  EXPECT_EQ(Parse("30m"), kNow - 1'800'000);
  EXPECT_EQ(Parse("2h"), kNow - 7'200'000);
  EXPECT_EQ(Parse("3d"), kNow - 3 * 86'400'000);
  EXPECT_EQ(Parse("1764000000001"), 1'764'000'000'001);
}

TEST(TimeText, NamesWhatItDoesNotUnderstand) {
  for (const char* text :
       {"", "yesterday", "2w", "-5", "24.11.2026", "2026-13-01", "9999999999d"}) {
    const absl::StatusOr<int64_t> time = ParseTimeMs(text, kNow);
    ASSERT_FALSE(time.ok()) << text;
    EXPECT_THAT(std::string(time.status().message()), HasSubstr("2026-11-24T10:00:00Z"));
  }
}

TEST(TimeText, SpansHaveDays) {
  EXPECT_EQ(SpanText(0), "00:00:00");
  EXPECT_EQ(SpanText(3'723'999), "01:02:03");
  EXPECT_EQ(SpanText(86'400'000 + 61'000), "1 d 00:01:01");
}

TEST(LocalTimeText, HasItsOffset) {
  ::setenv("TZ", "UTC+3:30", 1);  // west
  EXPECT_EQ(LocalTimeText(1'800'000'000'000'000'000), "2027-01-15 04:30:00 -03:30");
  ::setenv("TZ", "UTC", 1);
  EXPECT_EQ(LocalTimeText(1'800'000'000'000'000'000), "2027-01-15 08:00:00 +00:00");
  EXPECT_EQ(LocalTimeText(0), "");
  EXPECT_EQ(LocalTimeText(86'400'000'000'000), "") << "of a clock that nobody set";
}

}  // namespace
}  // namespace eroica
