#include "producers/host/socket_table.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

namespace eroica {
namespace {

using ::testing::StartsWith;

sockaddr_in Address(const char* address, uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET, address, &in.sin_addr), 1);
  return in;
}

int Listener(uint16_t* port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in in = Address("127.0.0.2", 0);
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&in), sizeof in), 0);
  EXPECT_EQ(listen(listener, 8), 0);
  socklen_t length = sizeof in;
  EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&in), &length), 0);
  *port = ntohs(in.sin_port);
  return listener;
}

// A connection over loopback between two addresses, whose other end takes everything.
class Connection {
 public:
  explicit Connection(uint32_t bytes_a_second = 0) {
    uint16_t port = 0;
    const int listener = Listener(&port);
    sender_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bytes_a_second > 0) {
      EXPECT_EQ(setsockopt(sender_, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_a_second,
                           sizeof bytes_a_second),
                0);
    }
    sockaddr_in from = Address("127.0.0.1", 0);
    EXPECT_EQ(bind(sender_, reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
    sockaddr_in to = Address("127.0.0.2", port);
    EXPECT_EQ(connect(sender_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    receiver_ = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    EXPECT_GE(receiver_, 0);
    close(listener);
  }
  ~Connection() {
    close(sender_);
    close(receiver_);
  }
  // Nobody reads before `reads` says so.
  void Carry(
      size_t bytes, const std::function<bool()>& reads = [] { return true; }) {
    std::thread taker([&] {
      while (!reads()) std::this_thread::yield();
      std::vector<char> room(65'536);
      for (size_t taken = 0; taken < bytes;) {
        const ssize_t length = read(receiver_, room.data(), room.size());
        if (length <= 0) return;
        taken += static_cast<size_t>(length);
      }
    });
    const std::vector<char> block(65'536, 'x');
    for (size_t sent = 0; sent < bytes;) {
      const ssize_t length = write(sender_, block.data(), std::min(block.size(), bytes - sent));
      ASSERT_GT(length, 0);
      sent += static_cast<size_t>(length);
    }
    taker.join();
  }
  int sender() const { return sender_; }
  int receiver() const { return receiver_; }

 private:
  int sender_ = -1;
  int receiver_ = -1;
};

// Once all of it was acknowledged.
TcpConnection CountersOf(SocketTable& sockets, int descriptor, uint64_t bytes) {
  TcpConnection counters;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (counters.bytes < bytes && std::chrono::steady_clock::now() < deadline) {
    EXPECT_TRUE(sockets.ReadCounters(descriptor, sockets.InodeOf(descriptor), &counters));
    std::this_thread::yield();
  }
  return counters;
}

TEST(OwnSockets, TheEndsOfAConnectionAreEachOthers) {
  const auto sockets = OwnSockets("/proc");
  const Connection connection;
  TcpConnection sender;
  TcpConnection receiver;
  ASSERT_TRUE(
      sockets->ReadEnds(connection.sender(), sockets->InodeOf(connection.sender()), &sender));
  ASSERT_TRUE(
      sockets->ReadEnds(connection.receiver(), sockets->InodeOf(connection.receiver()), &receiver));
  EXPECT_THAT(sender.local, StartsWith("127.0.0.1:"));
  EXPECT_THAT(sender.peer, StartsWith("127.0.0.2:"));
  EXPECT_EQ(sender.local, receiver.peer);
  EXPECT_EQ(sender.peer, receiver.local);
}

TEST(OwnSockets, ASlowConnectionIsBusyLongerForTheSameBytes) {
  constexpr size_t kBytes = 2'000'000;
  constexpr uint32_t kRate = 4'000'000;
  const auto sockets = OwnSockets("/proc");
  Connection slow(kRate);
  Connection free;
  slow.Carry(kBytes);
  free.Carry(kBytes);
  const TcpConnection of_slow = CountersOf(*sockets, slow.sender(), kBytes);
  const TcpConnection of_free = CountersOf(*sockets, free.sender(), kBytes);
  EXPECT_GE(of_slow.bytes, kBytes);
  EXPECT_LE(of_slow.bytes, kBytes + 2);  // its own opening and closing may count
  EXPECT_GE(of_free.bytes, kBytes);
  // No connection is faster than its pace: at least half of the time that the bytes take at it.
  EXPECT_GT(of_slow.busy_ns, int64_t{1'000'000'000} / 2 * static_cast<int64_t>(kBytes) / kRate);
  EXPECT_GE(of_free.busy_ns, 0);
  TcpConnection of_receiver;
  ASSERT_TRUE(
      sockets->ReadCounters(slow.receiver(), sockets->InodeOf(slow.receiver()), &of_receiver));
  EXPECT_LE(of_receiver.bytes, 2u);  // what a rank receives is told by the other end
}

// While the receiver does not read, its window is full, and nothing is under way that a path could
// be slow with.
TEST(OwnSockets, AReceiverThatIsLateToReadMakesNoConnectionBusy) {
  constexpr size_t kBytes = 32 << 20;  // more than the buffers of both ends take
  constexpr std::chrono::milliseconds kLate{500};
  const auto sockets = OwnSockets("/proc");
  Connection connection;
  const auto begin = std::chrono::steady_clock::now();
  const auto limited_long_enough = [&] {
    tcp_info info{};
    socklen_t length = sizeof info;
    EXPECT_EQ(getsockopt(connection.sender(), IPPROTO_TCP, TCP_INFO, &info, &length), 0);
    return std::chrono::microseconds(info.tcpi_rwnd_limited) >= kLate ||
           std::chrono::steady_clock::now() - begin > std::chrono::seconds(60);
  };
  connection.Carry(kBytes, limited_long_enough);
  const TcpConnection counters = CountersOf(*sockets, connection.sender(), kBytes);
  const std::chrono::nanoseconds all = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(counters.bytes, kBytes);
  EXPECT_GE(all - std::chrono::nanoseconds(counters.busy_ns), kLate);
}

TEST(OwnSockets, WhatIsNoConnectedTcpSocketHasNoEnds) {
  const auto sockets = OwnSockets("/proc");
  uint16_t port = 0;
  const int listener = Listener(&port);
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  TcpConnection ends;
  for (const int descriptor : {listener, pair[0], udp}) {
    EXPECT_NE(sockets->InodeOf(descriptor), 0u);
    EXPECT_FALSE(sockets->ReadEnds(descriptor, sockets->InodeOf(descriptor), &ends));
  }
  EXPECT_EQ(sockets->InodeOf(file), 0u);
  for (const int descriptor : {listener, pair[0], pair[1], udp, file}) close(descriptor);
  EXPECT_EQ(sockets->InodeOf(file), 0u);
  EXPECT_EQ(sockets->InodeOf(-1), 0u);
  EXPECT_FALSE(sockets->ReadCounters(-1, 1, &ends));
}

TEST(OwnSockets, AnotherSocketsCountersAreNotTaken) {
  const auto sockets = OwnSockets("/proc");
  const Connection connection;
  TcpConnection counters{.bytes = 7};
  EXPECT_FALSE(sockets->ReadCounters(connection.sender(), 1, &counters));
  EXPECT_FALSE(sockets->ReadEnds(connection.sender(), 1, &counters));
  EXPECT_EQ(counters.bytes, 7u);
}

TEST(OwnSockets, AddressesOfIpv6) {
  const int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_addr = in6addr_any;
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&in), sizeof in) != 0)
    GTEST_SKIP() << "the kernel gives no IPv6 socket: its addresses cannot be tested here";
  ASSERT_EQ(listen(listener, 1), 0);
  socklen_t length = sizeof in;
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&in), &length), 0);
  const int sender = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to = Address("127.0.0.1", ntohs(in.sin6_port));
  ASSERT_EQ(connect(sender, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  const int receiver = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  const auto sockets = OwnSockets("/proc");
  TcpConnection ends;
  ASSERT_TRUE(sockets->ReadEnds(receiver, sockets->InodeOf(receiver), &ends));
  EXPECT_EQ(ends.local,
            "127.0.0.1:" + std::to_string(ntohs(in.sin6_port)));  // not ::ffff:127.0.0.1
  for (const int descriptor : {listener, sender, receiver}) close(descriptor);
}

TEST(OwnSockets, AllDescriptorsAreBelowTheEnd) {
  const Connection connection;
  EXPECT_GT(OwnSockets("/proc")->DescriptorsEnd(0), connection.sender());
  const int without_proc = OwnSockets("/nowhere")->DescriptorsEnd(0);
  EXPECT_GT(without_proc, 0);
  EXPECT_LE(without_proc, 4'096);
}

// An application that opens and closes while its sockets are read: its descriptors stay its own.
TEST(OwnSockets, SocketsThatComeAndGoMeanwhile) {
  const auto sockets = OwnSockets("/proc");
  std::atomic<bool> end = false;
  std::thread application([&] {
    for (int i = 0; i < 300; ++i) {
      Connection connection;
      connection.Carry(1'000);
    }
    end = true;
  });
  TcpConnection counters;
  uint64_t read = 0;
  while (!end) {
    for (int descriptor = 0; descriptor < 64; ++descriptor) {
      const uint64_t inode = sockets->InodeOf(descriptor);
      if (inode == 0 || !sockets->ReadEnds(descriptor, inode, &counters)) continue;
      if (sockets->ReadCounters(descriptor, inode, &counters)) ++read;
    }
  }
  application.join();
  EXPECT_GT(read, 0u);
  EXPECT_LE(counters.bytes, 2'000u);
}

TEST(CountersOfTcpInfo, OlderKernelsGiveLess) {
  std::array<std::byte, 512> info{};
  TcpConnection counters;
  for (size_t length = 0; length < 184; ++length)
    EXPECT_FALSE(CountersOfTcpInfo(std::span(info).first(length), &counters)) << length;
  info.fill(std::byte{0xff});
  ASSERT_TRUE(CountersOfTcpInfo(std::span(info).first(184), &counters));
  EXPECT_EQ(counters.bytes, UINT64_MAX);
  EXPECT_GE(counters.busy_ns, 0);
  EXPECT_EQ(counters.retransmits, UINT32_MAX);
  EXPECT_TRUE(CountersOfTcpInfo(info, &counters));
}

TEST(CountersOfTcpInfo, WhatTheReceiverHadNoRoomForIsNotBusy) {
  const auto busy_ns = [](uint64_t busy_us, uint64_t limited_us) {
    tcp_info info{};
    info.tcpi_busy_time = busy_us;
    info.tcpi_rwnd_limited = limited_us;
    TcpConnection counters;
    EXPECT_TRUE(CountersOfTcpInfo(std::as_bytes(std::span(&info, 1)), &counters));
    return counters.busy_ns;
  };
  EXPECT_EQ(busy_ns(500'000, 0), 500'000'000);
  EXPECT_EQ(busy_ns(500'000, 420'000), 80'000'000);
  EXPECT_EQ(busy_ns(500'000, 500'001), 0);
}

}  // namespace
}  // namespace eroica
