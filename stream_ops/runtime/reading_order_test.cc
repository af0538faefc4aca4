#include "stream_ops/runtime/reading_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eroica {
namespace {

using ::testing::ElementsAre;

constexpr ReadingState kReading = ReadingState::kReading;
constexpr ReadingState kPaused = ReadingState::kPaused;
constexpr ReadingState kUnloaded = ReadingState::kUnloaded;

std::map<TopicPartition, PartitionProgress> Numbered(std::vector<PartitionProgress> partitions) {
  std::map<TopicPartition, PartitionProgress> numbered;
  for (const PartitionProgress& partition : partitions)
    numbered[{"events", static_cast<int32_t>(numbered.size())}] = partition;
  return numbered;
}

// A pool of 1,000 bytes.
std::vector<ReadingState> Plan(std::vector<PartitionProgress> partitions, uint64_t bytes,
                               bool later_crowded = false) {
  const ReadingPlan plan = PlanReading(
      Numbered(std::move(partitions)),
      {.bytes = bytes, .bytes_max = 1'000, .later_crowded = later_crowded},
      {.ahead_ms = 100, .unload_above = 0.75, .load_below = 0.5, .reread_records_max = 1'000});
  std::vector<ReadingState> states;
  for (const auto& [partition, state] : plan) states.push_back(state);
  return states;
}

TEST(ReadingOrder, WithRoomEveryPartitionIsRead) {
  EXPECT_FALSE(NeedsReadingOrder({.bytes = 700, .bytes_max = 1'000}, {}));
  EXPECT_TRUE(NeedsReadingOrder({.bytes = 800, .bytes_max = 1'000}, {}));
  EXPECT_TRUE(NeedsReadingOrder({.bytes = 0, .bytes_max = 1'000, .later_crowded = true}, {}));
  EXPECT_THAT(Plan({{.state = kPaused, .time_ms = 10'000}, {.time_ms = 1}}, 100),
              ElementsAre(kReading, kReading));
}

TEST(ReadingOrder, WhoIsFurthestAheadLetsGoUntilThereIsRoom) {
  EXPECT_THAT(Plan({{.time_ms = 30, .held_bytes = 300},
                    {.time_ms = 10, .held_bytes = 300},
                    {.time_ms = 20, .held_bytes = 300}},
                   900),
              ElementsAre(kUnloaded, kReading, kReading));
}

TEST(ReadingOrder, WhoIsAtItsEndLetsGoFirst) {
  EXPECT_THAT(
      Plan({{.time_ms = 30, .held_bytes = 400}, {.time_ms = 10, .at_end = true, .held_bytes = 400}},
           800),
      ElementsAre(kReading, kUnloaded));
}

TEST(ReadingOrder, WhoIsFurthestBehindStaysHoweverMuchItHolds) {
  EXPECT_THAT(Plan({{.time_ms = 10, .held_bytes = 900}}, 900), ElementsAre(kReading));
  EXPECT_THAT(Plan({{.time_ms = 10, .held_bytes = 700}, {.time_ms = 20, .held_bytes = 100}}, 800),
              ElementsAre(kReading, kUnloaded));
}

TEST(ReadingOrder, ATaskThatWouldReadMuchAgainStays) {
  EXPECT_THAT(Plan({{.time_ms = 10, .held_bytes = 400},
                    {.time_ms = 20, .held_bytes = 300, .reread_records = 100},
                    {.time_ms = 30, .held_bytes = 300, .reread_records = 1'001}},
                   1'000),
              ElementsAre(kReading, kUnloaded, kReading));
}

TEST(ReadingOrder, IsLoadedAgainWhereItFits) {
  const PartitionProgress waits{.state = kUnloaded, .time_ms = 20, .held_bytes = 300};
  const PartitionProgress reads{.time_ms = 10, .held_bytes = 200};
  EXPECT_THAT(Plan({waits, reads}, 200), ElementsAre(kReading, kReading));
  EXPECT_THAT(Plan({waits, reads}, 201), ElementsAre(kUnloaded, kReading));
}

TEST(ReadingOrder, WhereNobodyElseHasAnythingToReadItsTurnHasCome) {
  EXPECT_THAT(Plan({{.state = kUnloaded, .time_ms = 20, .held_bytes = 300},
                    {.time_ms = 10, .at_end = true, .held_bytes = 600}},
                   600),
              ElementsAre(kReading, kUnloaded));
}

TEST(ReadingOrder, WhoWasLoadedReadsTwiceWhatItReadAgainBeforeTheNextOnesTurn) {
  const PartitionProgress waits{.state = kUnloaded, .time_ms = 20, .held_bytes = 600};
  EXPECT_THAT(Plan({waits, {.time_ms = 40, .held_bytes = 600, .owes = true}}, 600),
              ElementsAre(kUnloaded, kReading));
  EXPECT_THAT(Plan({waits, {.time_ms = 40, .held_bytes = 600, .owes = false}}, 600),
              ElementsAre(kReading, kUnloaded));
  EXPECT_THAT(Plan({waits, {.time_ms = 15, .held_bytes = 600, .owes = false}}, 600),
              ElementsAre(kUnloaded, kReading))
      << "who is further behind goes first";
}

TEST(ReadingOrder, WithoutNewsNobodyIsLoadedAgain) {
  const PartitionProgress ended{
      .state = kUnloaded, .time_ms = 20, .at_end = true, .held_bytes = 300};
  EXPECT_THAT(Plan({ended}, 0), ElementsAre(kUnloaded));
  PartitionProgress silent = ended;
  silent.idle_due = true;
  EXPECT_THAT(Plan({silent}, 0), ElementsAre(kReading)) << "it is to hear of the silence";
  EXPECT_THAT(Plan({silent, {.time_ms = 10, .held_bytes = 600}}, 600),
              ElementsAre(kUnloaded, kReading))
      << "after those who have something to read";
}

TEST(ReadingOrder, WhileALaterStageIsCrowdedOnlyThoseFurthestBehindAreRead) {
  EXPECT_THAT(Plan({{.time_ms = 1'000}, {.time_ms = 1'100}, {.time_ms = 1'101}}, 0, true),
              ElementsAre(kReading, kReading, kPaused));
  EXPECT_THAT(Plan({{.time_ms = 1'000, .at_end = true}, {.time_ms = 5'000}}, 0, true),
              ElementsAre(kReading, kReading))
      << "who is at its end holds nobody up";
  EXPECT_THAT(Plan({{.at_end = true}, {.time_ms = 5'000}, {}}, 0, true),
              ElementsAre(kReading, kPaused, kReading))
      << "of one that was not read yet nobody knows how far behind it is";
}

TEST(ReadingOrder, WhoeverWaitsForAnUnloadedOneSeesItLoaded) {
  EXPECT_THAT(Plan({{.state = kUnloaded, .time_ms = 1'000, .held_bytes = 400},
                    {.state = kPaused, .time_ms = 5'000, .held_bytes = 400}},
                   400, true),
              ElementsAre(kReading, kUnloaded));
}

// Whatever the state, somebody who has something to read is read.
TEST(ReadingOrder, NeverStopsAll) {
  for (uint32_t seed = 0; seed < 20'000; ++seed) {
    uint32_t random = seed * 2'654'435'761u;
    const auto choose = [&random](uint32_t below) {
      random = random * 1'664'525u + 1'013'904'223u;
      return (random >> 16) % below;
    };
    std::vector<PartitionProgress> partitions(1 + choose(5));
    uint64_t bytes = choose(2) * 300;
    for (PartitionProgress& partition : partitions) {
      partition.state = static_cast<ReadingState>(choose(3));
      partition.time_ms = choose(500);
      partition.at_end = choose(3) == 0;
      partition.held_bytes = choose(600);
      partition.owes = choose(2) == 0;
      partition.reread_records = choose(2'000);
      partition.idle_due = partition.state == kUnloaded && choose(2) == 0;
      if (partition.state != kUnloaded) bytes += partition.held_bytes;
    }
    const std::vector<ReadingState> states = Plan(partitions, bytes, choose(2) == 0);
    bool has_input = false;
    bool reads = false;
    for (size_t i = 0; i < partitions.size(); ++i) {
      has_input = has_input || !partitions[i].at_end;
      const bool reads_again = partitions[i].state == kUnloaded;
      const bool has_some = !partitions[i].at_end || reads_again;
      reads = reads || (has_some && states[i] == kReading);
    }
    EXPECT_TRUE(reads || !has_input) << "seed " << seed;
  }
}

}  // namespace
}  // namespace eroica
