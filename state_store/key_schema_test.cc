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
    for (int family = 0; family < kProgressFamilyCount; ++family) {
      const std::string key = BeginProgressKey(JobId(job), static_cast<ProgressFamily>(family))
                                  .PutUint32(123'456)
                                  .key();
      std::optional<ProgressKey> read = DecodeProgressKey(key);
      ASSERT_TRUE(read.has_value());
      EXPECT_EQ(read->job, JobId(job));
      EXPECT_EQ(static_cast<int>(read->family), family);
      EXPECT_EQ(read->rest.TakeUint32(), 123'456u);
      EXPECT_TRUE(read->rest.AtEnd());
    }
  }
}

TEST(KeySchema, RefusesWhatIsNoKey) {
  const std::string key = EncodeKey(FindingKey{JobId("job"), "f"});
  for (size_t length = 0; length < key.size(); ++length)
    EXPECT_EQ(DecodeFindingKey(key.substr(0, length)), std::nullopt);
  EXPECT_EQ(DecodeFindingKey(key + "x"), std::nullopt);
  EXPECT_EQ(DecodeJobKey(key), std::nullopt);
  EXPECT_FALSE(DecodeProgressKey(EncodeKey(JobId("job"))).has_value());
  EXPECT_FALSE(DecodeProgressKey(KeyWriter().PutString("job").PutByte(kProgressFamilyCount).key()));
}

TEST(KeySchema, AKeyWithoutItsTaskIsTheKey) {
  for (const std::string& task : kAwkward) {
    const std::string prefixed = EncodeTaskPrefix(task) + EncodeKey(JobId("job"));
    EXPECT_EQ(WithoutTask(prefixed), EncodeKey(JobId("job")));
  }
  EXPECT_EQ(WithoutTask("no string's end"), std::nullopt);
}

// So that forgetting one job takes nothing of another's.
TEST(KeySchema, WhatATaskKeepsOfAJobLiesTogether) {
  for (const std::string& job : kAwkward) {
    for (const std::string& other : kAwkward) {
      const std::string key = BeginProgressKey(JobId(other), ProgressFamily::kRank).key();
      EXPECT_EQ(key.starts_with(EncodeKey(JobId(job))), job == other);
    }
  }
}

}  // namespace
}  // namespace eroica
