#include "stream_ops/log/partitioner.h"

#include <gtest/gtest.h>

#include <string>

namespace eroica {
namespace {

// Kafka's own vectors: UtilsTest.testMurmur2.
TEST(Partitioner, HashesAsKafkaDoes) {
  EXPECT_EQ(static_cast<int32_t>(Murmur2("21")), -973932308);
  EXPECT_EQ(static_cast<int32_t>(Murmur2("foobar")), -790332482);
  EXPECT_EQ(static_cast<int32_t>(Murmur2("a-little-bit-long-string")), -985981536);
  EXPECT_EQ(static_cast<int32_t>(Murmur2("a-little-bit-longer-string")), -1486304829);
  EXPECT_EQ(static_cast<int32_t>(Murmur2("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8")),
            -58897971);
  EXPECT_EQ(static_cast<int32_t>(Murmur2("abc")), 479470107);
}

TEST(Partitioner, BytesAboveAsciiAreUnsigned) {
  // As librdkafka's and Java's partitioners, which mask every byte.
  EXPECT_NE(Murmur2("\xff\xfe\xfd"), Murmur2("\x7f\x7e\x7d"));
  EXPECT_EQ(Murmur2(std::string_view("\0\0\0\0", 4)), Murmur2(std::string(4, '\0')));
}

TEST(Partitioner, PartitionIsTheHashWithoutItsSignModuloThePartitions) {
  EXPECT_EQ(PartitionForKey("abc", 7), 479470107 % 7);
  EXPECT_EQ(PartitionForKey("21", 7),
            static_cast<int32_t>((static_cast<uint32_t>(-973932308) & 0x7fffffffu) % 7));
  EXPECT_EQ(PartitionForKey("anything", 1), 0);
  EXPECT_EQ(PartitionForKey("", 16), PartitionForKey("", 16));
}

TEST(Partitioner, SpreadsKeysOverAllPartitions) {
  std::vector<int> counts(8);
  for (int key = 0; key < 8'000; ++key)
    ++counts[static_cast<size_t>(PartitionForKey("job/" + std::to_string(key), 8))];
  for (int count : counts) EXPECT_NEAR(count, 1'000, 200);
}

TEST(PartitionerDeathTest, NoPartitionsIsABug) {
  EXPECT_DEATH(PartitionForKey("abc", 0), "check failed");
}

}  // namespace
}  // namespace eroica
