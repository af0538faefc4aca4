#include "schemas/varint_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

std::vector<uint8_t> Write(const std::vector<uint64_t>& values) {
  VarintColumnWriter writer;
  const auto bytes = writer.Write(values.size(), [&](size_t i) { return values[i]; });
  return {bytes.begin(), bytes.end()};
}

template <typename T = uint64_t>
DropReason Read(const std::vector<uint8_t>& bytes, size_t count, std::vector<T>* values) {
  values->assign(count, T{0});
  return ReadVarints<T>(bytes, *values);
}

void ExpectRoundTrip(const std::vector<uint64_t>& values) {
  std::vector<uint64_t> read;
  ASSERT_EQ(Read(Write(values), values.size(), &read), DropReason::kNone);
  EXPECT_EQ(read, values);
}

// `bits` random bits, so that lengths are mixed as asked for.
std::vector<uint64_t> RandomValues(size_t count, int bits_min, int bits_max, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> bits(bits_min, bits_max);
  std::vector<uint64_t> values(count);
  for (uint64_t& value : values) {
    const int n = bits(random);
    value = n == 0 ? 0 : random() >> (64 - n);
  }
  return values;
}

TEST(VarintColumn, WritesSevenBitsAByteLowestFirst) {
  EXPECT_THAT(Write({0, 1, 127, 128, 300, 16'383, 16'384}),
              ElementsAre(0x00, 0x01, 0x7f, 0x80, 0x01, 0xac, 0x02, 0xff, 0x7f, 0x80, 0x80, 0x01));
}

TEST(VarintColumn, KeepsTheFirstAndLastValueOfEveryLength) {
  std::vector<uint64_t> values = {0, kMax};
  for (int bits = 7; bits < 64; bits += 7) {
    values.push_back((uint64_t{1} << bits) - 1);
    values.push_back(uint64_t{1} << bits);
  }
  ExpectRoundTrip(values);
  for (const uint64_t value : values) ExpectRoundTrip(std::vector<uint64_t>(100, value));
}

TEST(VarintColumn, KeepsMixturesOfLengths) {
  for (const auto& [low, high] :
       {std::pair(0, 7), {0, 14}, {8, 21}, {0, 28}, {20, 36}, {50, 64}, {0, 64}}) {
    for (size_t count = 0; count < 40; ++count)
      ExpectRoundTrip(RandomValues(count, low, high, count));
    ExpectRoundTrip(RandomValues(10'000, low, high, 7));
  }
}

TEST(VarintColumn, RefusesEveryTruncation) {
  const std::vector<uint64_t> values = RandomValues(60, 0, 40, 1);
  const std::vector<uint8_t> bytes = Write(values);
  std::vector<uint64_t> read;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint8_t> cut(bytes.begin(),
                                   bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(Read(cut, values.size(), &read), DropReason::kColumnLength) << size;
  }
}

TEST(VarintColumn, RefusesMoreOrFewerValuesThanAnnounced) {
  for (const size_t count : {1u, 7u, 8u, 9u, 100u}) {
    const std::vector<uint8_t> bytes = Write(RandomValues(count, 0, 20, count));
    std::vector<uint64_t> read;
    EXPECT_EQ(Read(bytes, count - 1, &read), DropReason::kColumnLength);
    EXPECT_EQ(Read(bytes, count + 1, &read), DropReason::kColumnLength);
  }
}

TEST(VarintColumn, RefusesAValueBeyond64Bits) {
  std::vector<uint64_t> read;
  std::vector<uint8_t> bytes(9, 0xff);
  bytes.push_back(0x01);
  EXPECT_EQ(Read(bytes, 1, &read), DropReason::kNone);
  EXPECT_EQ(read[0], kMax);
  bytes.back() = 0x02;
  EXPECT_EQ(Read(bytes, 1, &read), DropReason::kColumnLength);
  bytes.back() = 0x81;
  bytes.push_back(0x00);
  EXPECT_EQ(Read(bytes, 1, &read), DropReason::kColumnLength);
}

TEST(VarintColumn, RefusesABadValueAmongGoodOnesWhereverItStands) {
  for (size_t place = 0; place < 64; ++place) {
    std::vector<uint8_t> bytes(64, 0x05);
    const std::vector<uint8_t> bad(11, 0xff);
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(place), bad.begin(), bad.end());
    std::vector<uint64_t> read;
    EXPECT_EQ(Read(bytes, 64, &read), DropReason::kColumnLength) << place;
  }
}

TEST(VarintColumn, RefusesAValueThatItsTypeCannotHold) {
  std::vector<uint64_t> values(50, 3);
  std::vector<uint32_t> read;
  for (const size_t place : {0u, 20u, 49u}) {
    values.assign(50, 3);
    values[place] = std::numeric_limits<uint32_t>::max();
    EXPECT_EQ(Read(Write(values), 50, &read), DropReason::kNone);
    EXPECT_EQ(read[place], std::numeric_limits<uint32_t>::max());
    values[place] += 1;
    EXPECT_EQ(Read(Write(values), 50, &read), DropReason::kIndexOutOfRange);
  }
}

TEST(VarintColumn, TakesPaddedValues) {
  std::vector<uint64_t> read;
  EXPECT_EQ(Read({0x85, 0x80, 0x00}, 1, &read), DropReason::kNone);
  EXPECT_THAT(read, ElementsAre(5));
}

TEST(VarintColumn, AnyBytesAreReadOrRefused) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint8_t> bytes(random() % 120);
    const uint8_t mask = random() % 2 == 0 ? 0xff : 0x8f;
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random()) & mask;
    const auto count = static_cast<size_t>(
        std::count_if(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte < 0x80; }));
    std::vector<uint64_t> read;
    if (Read(bytes, count, &read) != DropReason::kNone) continue;
    std::vector<uint64_t> again;
    ASSERT_EQ(Read(Write(read), count, &again), DropReason::kNone);
    ASSERT_EQ(again, read);
  }
}

TEST(VarintColumn, ZigZagPutsSmallNumbersFirst) {
  EXPECT_EQ(ZigZag(0), 0u);
  EXPECT_EQ(ZigZag(-1), 1u);
  EXPECT_EQ(ZigZag(1), 2u);
  EXPECT_EQ(ZigZag(std::numeric_limits<int64_t>::min()), kMax);
  for (const int64_t value :
       {int64_t{0}, int64_t{-5}, int64_t{77}, std::numeric_limits<int64_t>::min(),
        std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(UnZigZag(ZigZag(value)), value);
  }
}

}  // namespace
}  // namespace eroica
