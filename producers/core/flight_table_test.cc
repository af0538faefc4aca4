#include "producers/core/flight_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

InFlightCollective AllReduce(uint64_t sequence = FlightTable::kCount, uint16_t communicator = 0) {
  return {.communicator = communicator,
          .operation = CollectiveOperation::kAllReduce,
          .sequence = sequence,
          .bytes = 64,
          .launched_ns = 5};
}

class FlightTableTest : public ::testing::Test {
 protected:
  std::unique_ptr<FlightTable> table_ = std::make_unique<FlightTable>();
};

TEST_F(FlightTableTest, TicketsThatAreNotInFlightDoNoHarm) {
  EXPECT_FALSE(table_->Start(0));
  EXPECT_FALSE(table_->End(0));
  EXPECT_FALSE(table_->End(999'999));
  const uint64_t ticket = table_->Launch(AllReduce()).ticket;
  EXPECT_TRUE(table_->Start(ticket));
  EXPECT_FALSE(table_->Start(ticket));
  EXPECT_TRUE(table_->End(ticket));
  EXPECT_FALSE(table_->End(ticket));
  EXPECT_FALSE(table_->Start(ticket));
  EXPECT_THAT(table_->InFlight(), IsEmpty());
}

TEST_F(FlightTableTest, CountsSequencesPerCommunicatorOperationAndPeer) {
  EXPECT_EQ(table_->Launch(AllReduce()).sequence, 0u);
  EXPECT_EQ(table_->Launch(AllReduce()).sequence, 1u);
  EXPECT_EQ(table_->Launch(AllReduce(FlightTable::kCount, 1)).sequence, 0u);
  InFlightCollective send{
      .operation = CollectiveOperation::kSend, .peer = 3, .sequence = FlightTable::kCount};
  EXPECT_EQ(table_->Launch(send).sequence, 0u);
  send.peer = 4;
  EXPECT_EQ(table_->Launch(send).sequence, 0u);
  EXPECT_EQ(table_->Launch(AllReduce(41)).sequence, 41u);
  EXPECT_EQ(table_->Launch(AllReduce()).sequence, 42u);
}

TEST_F(FlightTableTest, SaysWhatIsInFlightAndHowFarEachKindHasCome) {
  const uint64_t first = table_->Launch(AllReduce(10)).ticket;
  const uint64_t second = table_->Launch(AllReduce(11)).ticket;
  table_->Start(second);
  table_->End(first);
  const std::vector<InFlightCollective> in_flight = table_->InFlight();
  ASSERT_THAT(in_flight, SizeIs(1));
  EXPECT_EQ(in_flight[0].sequence, 11u);
  EXPECT_TRUE(in_flight[0].started);
  EXPECT_EQ(in_flight[0].bytes, 64u);
  EXPECT_THAT(table_->Operations(in_flight),
              ElementsAre(OperationCount{0, CollectiveOperation::kAllReduce, -1, 12, 11}));
}

TEST_F(FlightTableTest, AFullTableRefusesAndGoesOnWhenThereIsRoomAgain) {
  std::vector<uint64_t> tickets;
  for (size_t i = 0; i < FlightTable::kSlots; ++i)
    tickets.push_back(table_->Launch(AllReduce()).ticket);
  EXPECT_THAT(std::set<uint64_t>(tickets.begin(), tickets.end()), SizeIs(FlightTable::kSlots));
  EXPECT_EQ(table_->Launch(AllReduce()).ticket, 0u);
  for (const uint64_t ticket : tickets) EXPECT_TRUE(table_->End(ticket));
  EXPECT_NE(table_->Launch(AllReduce()).ticket, 0u);
}

TEST_F(FlightTableTest, ManyThreadsLaunchAndEndWhileOneReads) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20'000;
  std::atomic<int> ended = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const uint64_t ticket = table_->Launch(AllReduce()).ticket;
        table_->Start(ticket);
        if (table_->End(ticket)) ++ended;
      }
    });
  }
  while (ended < kThreads * kRounds / 2) {
    for (const InFlightCollective& row : table_->InFlight()) ASSERT_EQ(row.bytes, 64u);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ended, kThreads * kRounds);
  EXPECT_EQ(table_->Operations({})[0].launched, static_cast<uint64_t>(kThreads * kRounds));
}

}  // namespace
}  // namespace eroica
