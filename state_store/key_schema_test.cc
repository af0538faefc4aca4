#include "state_store/key_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "state_store/key_encoding.h"

namespace eroica {
namespace {

using std::string_literals::operator""s;

// Strings that a naive encoding confuses: empty, zero bytes, ff bytes, prefixes of each other. In
// their own order.
const std::vector<std::string> kAwkward = {"",    "\0"s, "\0\0"s, "\0\1"s,    "\0\xff"s,
                                           "\1"s, "a",   "a\0"s,  "a\0b"s,    "aa",
                                           "ab",  "b",   "\xff"s, "\xff\xff"s};
const std::vector<int64_t> kIndices = {
    std::numeric_limits<int64_t>::min(), -256, -1, 0, 1, 255, 256,
    std::numeric_limits<int64_t>::max()};

std::string StringKey(const std::string& value) { return KeyWriter().PutString(value).key(); }
std::string IntKey(int64_t value) { return KeyWriter().PutInt64(value).key(); }

TEST(KeyEncoding, StringsKeepTheirOrderAndAreNoPrefixOfEachOther) {
  for (size_t i = 0; i < kAwkward.size(); ++i) {
    for (size_t j = 0; j < kAwkward.size(); ++j) {
      const std::string left = StringKey(kAwkward[i]);
      const std::string right = StringKey(kAwkward[j]);
      EXPECT_EQ(left < right, i < j) << i << " " << j;
      EXPECT_EQ(right.starts_with(left), i == j) << i << " " << j;
    }
  }
}

TEST(KeyEncoding, SignedIntegersKeepTheirOrder) {
  for (size_t i = 0; i + 1 < kIndices.size(); ++i)
    EXPECT_LT(IntKey(kIndices[i]), IntKey(kIndices[i + 1]));
}

TEST(KeyEncoding, ReadsBackWhatWasWritten) {
  for (const std::string& text : kAwkward) {
    const std::string key = KeyWriter()
                                .PutByte(7)
                                .PutUint32(0xfffefdfc)
                                .PutString(text)
                                .PutInt64(-5)
                                .PutUint64(1)
                                .key();
    KeyReader reader(key);
    EXPECT_EQ(reader.TakeByte(), 7);
    EXPECT_EQ(reader.TakeUint32(), 0xfffefdfc);
    EXPECT_EQ(reader.TakeString(), text);
    EXPECT_EQ(reader.TakeInt64(), -5);
    EXPECT_EQ(reader.TakeUint64(), 1u);
    EXPECT_TRUE(reader.AtEnd());
  }
}

TEST(KeyEncoding, ABrokenKeyGivesNothing) {
  for (const std::string& broken : {""s, "abc"s, "abc\0"s, "abc\0\2"s}) {
    KeyReader reader(broken);
    EXPECT_EQ(reader.TakeString(), std::nullopt);
    EXPECT_EQ(reader.TakeByte(), std::nullopt);  // and nothing after it
    EXPECT_FALSE(reader.AtEnd());
  }
  KeyReader reader("\1\2\3");
  EXPECT_EQ(reader.TakeUint32(), std::nullopt);
}

TEST(KeyEncoding, PrefixEndIsTheFirstKeyBehindThePrefix) {
  EXPECT_EQ(PrefixEnd("ab"), "ac");
  EXPECT_EQ(PrefixEnd("a\xff\xff"), "b");
  EXPECT_EQ(PrefixEnd("\xff\xff"), "");
  EXPECT_EQ(PrefixEnd(""), "");
}

TEST(KeySchema, EveryKeyReadsBack) {
  for (const std::string& job : kAwkward) {
    EXPECT_EQ(DecodeJobKey(EncodeKey(JobId(job))), JobId(job));
    for (const std::string& finding : kAwkward) {
      const FindingKey key{JobId(job), finding};
      EXPECT_EQ(DecodeFindingKey(EncodeKey(key)), key);
    }
    for (const int64_t index : kIndices) {
      for (const WindowKind kind : {WindowKind::kTime, WindowKind::kSteps}) {
        const PatternKey pattern{{JobId(job), kind, index}, RankId(123'456)};
        const SummaryKey summary{{JobId(job), kind, index}, CommId(0xffff'ffff'ffff'ff00)};
        EXPECT_EQ(DecodePatternKey(EncodeKey(pattern)), pattern);
        EXPECT_EQ(DecodeSummaryKey(EncodeKey(summary)), summary);
        EXPECT_TRUE(EncodeKey(pattern).starts_with(EncodeKey(pattern.window)));
        EXPECT_TRUE(EncodeKey(summary).starts_with(EncodeKey(summary.window)));
      }
    }
  }
}

TEST(KeySchema, RefusesWhatIsNoKey) {
  const std::string key = EncodeKey(PatternKey{{JobId("job"), WindowKind::kSteps, 3}, RankId(1)});
  for (size_t length = 0; length < key.size(); ++length)
    EXPECT_EQ(DecodePatternKey(key.substr(0, length)), std::nullopt);
  EXPECT_EQ(DecodePatternKey(key + "x"), std::nullopt);
  EXPECT_EQ(DecodeSummaryKey(key), std::nullopt);
  EXPECT_EQ(DecodePatternKey("\x02" + key.substr(1)), std::nullopt);
}

TEST(KeySchema, AWindowOfAJobIsOneContiguousRangeInTheOrderOfRanks) {
  for (const WindowKind kind : {WindowKind::kTime, WindowKind::kSteps}) {
    std::vector<std::string> keys;
    for (const std::string job : {"a", "aa", "b"}) {
      for (const int64_t index : {-1, 0, 7}) {
        for (const uint32_t rank : {0u, 1u, 256u})
          keys.push_back(EncodeKey(PatternKey{{JobId(job), kind, index}, RankId(rank)}));
      }
    }
    std::ranges::sort(keys);
    const std::string prefix = EncodeKey(WindowKey{JobId("aa"), kind, 0});
    const auto begin =
        std::ranges::find_if(keys, [&](const std::string& key) { return key.starts_with(prefix); });
    ASSERT_LE(3, keys.end() - begin);
    for (int i = 0; i < 3; ++i) {
      const auto key = DecodePatternKey(begin[i]);
      ASSERT_TRUE(key.has_value());
      EXPECT_EQ(key->window.job, JobId("aa"));
      EXPECT_EQ(key->rank.value, (std::vector{0u, 1u, 256u}[static_cast<size_t>(i)]));
    }
  }
}

TEST(KeySchema, TimeWindowsExpireTogetherWhateverTheJob) {
  const KeyRange range = TimeWindowsBefore(100);
  const auto inside = [&](const std::string& job, WindowKind kind, int64_t index) {
    const std::string key = EncodeKey(PatternKey{{JobId(job), kind, index}, RankId(0)});
    return range.begin <= key && key < range.end;
  };
  for (const std::string& job : kAwkward) {
    EXPECT_TRUE(inside(job, WindowKind::kTime, 99));
    EXPECT_TRUE(inside(job, WindowKind::kTime, -5));
    EXPECT_FALSE(inside(job, WindowKind::kTime, 100));
    EXPECT_FALSE(inside(job, WindowKind::kSteps, 5));
  }
}

TEST(KeySchema, StepWindowsExpireByJob) {
  const KeyRange range = StepWindowsBefore(JobId("a"), 100);
  const auto inside = [&](const std::string& job, WindowKind kind, int64_t index) {
    const std::string key = EncodeKey(PatternKey{{JobId(job), kind, index}, RankId(0)});
    return range.begin <= key && key < range.end;
  };
  EXPECT_TRUE(inside("a", WindowKind::kSteps, 99));
  EXPECT_FALSE(inside("a", WindowKind::kSteps, 100));
  EXPECT_FALSE(inside("aa", WindowKind::kSteps, 5));
  EXPECT_FALSE(inside("a", WindowKind::kTime, 5));
}

}  // namespace
}  // namespace eroica
