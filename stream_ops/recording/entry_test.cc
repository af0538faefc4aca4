#include "stream_ops/recording/entry.h"

#include <gtest/gtest.h>

#include <random>

namespace eroica {
namespace {

ProducerRecord SampleRecord() {
  return {.topic = "t",
          .key = "job/7",
          .value = std::string(300, 'v') + std::string("\0\x01\xff", 3),
          .headers = {{"schema", "EVB1"}, {"", ""}, {"rank", std::string("\0", 1)}},
          .timestamp_ms = -5,
          .partition = {}};
}

std::string_view BodyOf(const std::string& entry) {
  return std::string_view(entry).substr(kEntryHeaderSize);
}

TEST(Entry, ComesBackAsItWentIn) {
  for (const bool compress : {false, true}) {
    const ProducerRecord record = SampleRecord();
    std::string bytes = "left from the entry before";
    ASSERT_TRUE(EncodeEntry(record, 41, compress, &bytes));
    const auto header = DecodeEntryHeader(bytes);
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->offset, 41);
    EXPECT_EQ(header->compressed, compress);
    EXPECT_EQ(header->body_size, BodyOf(bytes).size());
    ASSERT_TRUE(BodyIsIntact(*header, BodyOf(bytes)));
    ConsumerRecord decoded;
    ASSERT_TRUE(DecodeEntry(*header, BodyOf(bytes), &decoded));
    EXPECT_EQ(decoded.offset, 41);
    EXPECT_EQ(decoded.timestamp_ms, -5);
    EXPECT_EQ(decoded.key, record.key);
    EXPECT_EQ(decoded.value, record.value);
    EXPECT_EQ(decoded.headers, record.headers);
  }
}

TEST(Entry, IsPackedOnlyWhereThatIsSmaller) {
  ProducerRecord record = SampleRecord();
  record.value.resize(100'000);
  std::mt19937 random(1);
  for (char& c : record.value) c = static_cast<char>(random());
  std::string bytes;
  ASSERT_TRUE(EncodeEntry(record, 0, true, &bytes));
  EXPECT_FALSE(DecodeEntryHeader(bytes)->compressed);
  record.value.assign(100'000, 'x');
  ASSERT_TRUE(EncodeEntry(record, 0, true, &bytes));
  EXPECT_TRUE(DecodeEntryHeader(bytes)->compressed);
  EXPECT_LT(bytes.size(), 2'000u);
}

TEST(Entry, BeyondTheLimitIsRefused) {
  ProducerRecord record = SampleRecord();
  record.value.resize(size_t{kMaxEntryBody} + 1);
  std::string bytes;
  EXPECT_FALSE(EncodeEntry(record, 0, false, &bytes));
}

TEST(Entry, EveryFlippedBitIsNoticed) {
  std::string bytes;
  ASSERT_TRUE(EncodeEntry(SampleRecord(), 3, true, &bytes));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto header = DecodeEntryHeader(damaged);
    EXPECT_FALSE(header && BodyIsIntact(*header, BodyOf(damaged))) << "bit " << bit;
  }
}

TEST(Entry, BodiesThatLieAreRefused) {
  for (const bool compress : {false, true}) {
    std::string bytes;
    ASSERT_TRUE(EncodeEntry(SampleRecord(), 3, compress, &bytes));
    const EntryHeader header = *DecodeEntryHeader(bytes);
    const std::string body(BodyOf(bytes));
    ConsumerRecord record;
    for (size_t size = 0; size < body.size(); ++size)
      EXPECT_FALSE(DecodeEntry(header, body.substr(0, size), &record)) << size;
    // Whatever the sizes say, nothing is read beyond the body (the sanitizers watch) and nothing
    // huge is allocated.
    std::mt19937 random(7);
    for (int round = 0; round < 20'000; ++round) {
      std::string hostile = body;
      for (int flips = 0; flips < 3; ++flips)
        hostile[random() % std::min<size_t>(hostile.size(), 60)] = static_cast<char>(random());
      DecodeEntry(header, hostile, &record);
      EXPECT_LE(record.value.size(), size_t{kMaxEntryBody});
    }
  }
}

TEST(Entry, HeadersWithImpossibleNumbersAreNone) {
  EXPECT_FALSE(DecodeEntryHeader("").has_value());
  EXPECT_FALSE(DecodeEntryHeader(std::string(kEntryHeaderSize, '\0')).has_value());
  std::string bytes;
  ASSERT_TRUE(EncodeEntry(SampleRecord(), -1, false, &bytes));
  EXPECT_FALSE(DecodeEntryHeader(bytes).has_value()) << "an offset below 0";
}

TEST(Entry, MarkerIsFoundInTheMidstOfBytes) {
  std::string bytes;
  ASSERT_TRUE(EncodeEntry(SampleRecord(), 0, false, &bytes));
  EXPECT_EQ(FindSyncMarker("garbage" + bytes, 0), 7u);
  EXPECT_EQ(FindSyncMarker("garbage", 0), std::string_view::npos);
}

}  // namespace
}  // namespace eroica
