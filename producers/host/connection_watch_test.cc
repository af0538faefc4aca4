#include "producers/host/connection_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "producers/core/testing/recorded_core.h"
#include "producers/host/testing/made_up_files.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::IsEmpty;

// Sockets by descriptor.
class MadeUpSockets : public SocketTable {
 public:
  struct Row {
    uint64_t inode = 0;
    TcpConnection connection;
    bool tcp = true;
  };
  int DescriptorsEnd(int64_t) override { return end; }
  uint64_t InodeOf(int descriptor) override {
    ++looks;
    const auto row = rows.find(descriptor);
    return row == rows.end() ? 0 : row->second.inode;
  }
  bool ReadEnds(int descriptor, uint64_t inode, TcpConnection* connection) override {
    const auto row = rows.find(descriptor);
    if (row == rows.end() || row->second.inode != inode || !row->second.tcp) return false;
    connection->local = row->second.connection.local;
    connection->peer = row->second.connection.peer;
    return true;
  }
  bool ReadCounters(int descriptor, uint64_t inode, TcpConnection* connection) override {
    ++readings;
    const auto row = rows.find(descriptor);
    if (row == rows.end() || row->second.inode != inode) return false;
    connection->bytes = row->second.connection.bytes;
    connection->busy_ns = row->second.connection.busy_ns;
    connection->retransmits = row->second.connection.retransmits;
    return true;
  }
  std::map<int, Row> rows;
  int end = 64;
  int64_t looks = 0;
  int64_t readings = 0;
};

class ConnectionWatchTest : public ::testing::Test {
 protected:
  ConnectionWatchTest() {
    recorded_core::Reset();
    Publish(1, {"10.0.0.2:6", "10.0.0.2:7", "10.0.0.2:8"});
  }
  void Publish(uint32_t rank, std::vector<std::string> ends) {
    files_.Write(
        "rank-" + std::to_string(rank) + ".ends",
        FormatRankEnds({.rank = rank, .host = "h", .process = 9, .ends = std::move(ends)}));
  }
  void Put(int descriptor, uint64_t inode, const TcpConnection& connection) {
    sockets_.rows[descriptor] = {inode, connection};
  }
  // Two seconds of ticks.
  void Run() {
    for (int i = 0; i < 100; ++i) {
      now_ns_ += 20 * kNsPerMs;
      watch_.Tick(now_ns_);
      exchange_.Tick(now_ns_);
    }
  }
  static EroicaConnection Sum(uint32_t peer) {
    EroicaConnection sum{.peer = peer};
    for (const auto& taken : recorded_core::Read().connections) {
      if (taken.connection.peer != peer) continue;
      sum.bytes += taken.connection.bytes;
      sum.busy_ns += taken.connection.busy_ns;
      sum.retransmits += taken.connection.retransmits;
      sum.channels = std::max(sum.channels, taken.connection.channels);
      EXPECT_EQ(taken.connection.resource, EROICA_NIC);
      EXPECT_EQ(taken.connection.communicator, UINT16_MAX);
    }
    return sum;
  }

  MadeUpFiles files_;
  int64_t now_ns_ = 1'000'000 * kNsPerMs;
  MadeUpSockets sockets_;
  EndpointExchange exchange_{
      {.folder = files_.path(), .rank = 0, .world_size = 2, .host = "h", .process = 5}};
  ConnectionWatch watch_{{.rank = 0}, &sockets_, &exchange_};
};

TEST_F(ConnectionWatchTest, WhatAPeersSocketsCarriedSinceTheWatchBeganIsReported) {
  Put(5, 50, {"10.0.0.1:1", "10.0.0.2:6", 1'000'000, 5'000, 3});
  Put(6, 51, {"10.0.0.1:2", "10.0.0.2:7", 0, 0, 0});
  Run();
  EXPECT_THAT(recorded_core::Read().connections, IsEmpty());  // nothing since
  sockets_.rows[5].connection = {"10.0.0.1:1", "10.0.0.2:6", 1'000'700, 5'050, 4};
  sockets_.rows[6].connection = {"10.0.0.1:2", "10.0.0.2:7", 300, 20, 0};
  Run();
  const EroicaConnection sum = Sum(1);
  EXPECT_EQ(sum.bytes, 1'000u);
  EXPECT_EQ(sum.busy_ns, 70);
  EXPECT_EQ(sum.retransmits, 1u);
  EXPECT_EQ(sum.channels, 2);
  EXPECT_EQ(recorded_core::Read().connections.size(), 1u);
}

TEST_F(ConnectionWatchTest, ALaterSocketCountsFromWhenItWasMade) {
  Run();
  Put(5, 50, {"10.0.0.1:1", "10.0.0.2:6", 700, 50, 0});
  Run();
  Run();
  EXPECT_EQ(Sum(1).bytes, 700u);
}

TEST_F(ConnectionWatchTest, ADescriptorThatIsReusedIsAnotherSocket) {
  Put(5, 50, {"10.0.0.1:1", "10.0.0.2:6", 1'000, 10, 0});
  Run();
  Put(5, 51, {"10.0.0.1:3", "10.0.0.2:8", 5, 1, 0});  // fewer bytes than the one before
  Run();
  Run();
  EXPECT_EQ(Sum(1).bytes, 5u);
  sockets_.rows.clear();
  Run();
  EXPECT_EQ(watch_.sockets(), 0u);
}

TEST_F(ConnectionWatchTest, WhatLeadsNowhereInTheJobIsNotReported) {
  Put(5, 50, {"10.0.0.1:1", "10.9.9.9:443", 0, 0, 0});
  Put(6, 51, {"10.0.0.1:2", "10.0.0.1:7", 0, 0, 0});  // no network between
  Put(7, 52, {"10.0.0.1:3", "10.0.0.2:7", 0, 0, 0});
  sockets_.rows[7].tcp = false;
  Run();
  for (auto& [descriptor, row] : sockets_.rows) row.connection.bytes = 1'000;
  Run();
  EXPECT_THAT(recorded_core::Read().connections, IsEmpty());
}

// Each rank of a job on one host may have a loopback address of its own.
TEST_F(ConnectionWatchTest, WhatIsSentOverLoopbackPassesNoNic) {
  Publish(1, {"127.0.1.2:6", "::1:7", "10.0.0.2:8"});
  Put(5, 50, {"127.0.1.1:1", "127.0.1.2:6", 0, 0, 0});
  Put(6, 51, {"::1:2", "::1:7", 0, 0, 0});
  Put(7, 52, {"10.0.0.1:3", "10.0.0.2:8", 0, 0, 0});
  Run();
  for (auto& [descriptor, row] : sockets_.rows) row.connection.bytes = 1'000;
  Run();
  EXPECT_EQ(Sum(1).bytes, 1'000u);  // of the one over a network
}

TEST_F(ConnectionWatchTest, APeerThatComesLateIsToldWhatWasCarriedMeanwhile) {
  Put(5, 50, {"10.0.0.1:1", "10.0.0.3:9", 0, 0, 0});
  Run();
  sockets_.rows[5].connection.bytes = 400;
  Run();
  Publish(1, {"10.0.0.3:9"});
  for (int i = 0; i < 10; ++i) Run();
  EXPECT_EQ(Sum(1).bytes, 400u);
}

TEST_F(ConnectionWatchTest, CountersThatGoBackOrReachTheirEndStartAnew) {
  Put(5, 50, {"10.0.0.1:1", "10.0.0.2:6", 1'000, 1'000, 10});
  Run();
  sockets_.rows[5].connection = {"", "", 10, 10, 1};
  Run();
  EXPECT_THAT(recorded_core::Read().connections, IsEmpty());
  constexpr auto kEnd = std::numeric_limits<uint64_t>::max();
  sockets_.rows[5].connection = {"", "", kEnd, std::numeric_limits<int64_t>::max(), kEnd};
  Run();
  EXPECT_EQ(Sum(1).bytes, kEnd - 10);
}

TEST_F(ConnectionWatchTest, AFloodOfDescriptorsCostsNoMoreATick) {
  sockets_.end = 1'000'000;
  for (int descriptor = 0; descriptor < 5'000; ++descriptor) {
    Put(descriptor, 1'000 + static_cast<uint64_t>(descriptor),
        {"10.0.0.1:" + std::to_string(descriptor), "10.0.0.2:6", 0, 0, 0});
  }
  for (int i = 0; i < 10'000; ++i) {
    const int64_t before = sockets_.looks + sockets_.readings;
    now_ns_ += 20 * kNsPerMs;
    watch_.Tick(now_ns_);
    ASSERT_LE(sockets_.looks + sockets_.readings - before, 128 + 128 + 128);
  }
  EXPECT_EQ(watch_.sockets(), 1'024u);
  const auto losses = recorded_core::Read().losses;
  ASSERT_FALSE(losses.empty());
  EXPECT_EQ(losses[0].kind, EROICA_LOST_SAMPLE);
  EXPECT_EQ(losses[0].count, 5'000u - 1'024u);
}

}  // namespace
}  // namespace eroica
