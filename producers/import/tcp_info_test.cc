#include "producers/import/tcp_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const TcpConnection kToThree = {.local = "10.77.0.4:37922",
                                .peer = "10.77.0.3:44609",
                                .bytes = 71'208'969,
                                .busy_ns = 568'000'000,  // 572 ms without 4 ms
                                .retransmits = 1};
const std::string kLines =
    "0      0               10.77.0.4:37922          10.77.0.3:44609\n"
    "\t bbr wscale:10,10 rtt:1.328/0.303 bytes_sent:71210416 bytes_retrans:1448 "
    "bytes_acked:71208969 bbr:(bw:13663179360bps,mrtt:0.01) "
    "app_limited "
    "busy:572ms rwnd_limited:4ms(0.6%) retrans:0/1 minrtt:0.01        \n";

TEST(TcpInfo, ReadsWhatAConnectionCarried) {
  const TcpInfo info = ParseTcpInfo(kLines);
  EXPECT_THAT(info.connections, ElementsAre(kToThree));
  EXPECT_EQ(info.malformed, 0u);
  EXPECT_EQ(info.truncated, 0u);
}

TEST(TcpInfo, StatesHeadersProcessesAndSingleLinesAreRead) {
  const TcpInfo info = ParseTcpInfo(
      "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\r\n"
      "ESTAB 0 48 [::ffff:10.77.0.4%eth0]:37922 10.77.0.3:44609 users:((\"python\",pid=7,fd=9)) "
      "bytes_acked:71208969 busy:572ms "
      "rwnd_limited:4ms(0.7%) retrans:0/1\r\n"
      "ESTAB 0 0 [fe80::1]:9 [fe80::2]:10\r\n\t cubic rto:204\r\n");
  EXPECT_THAT(info.connections,
              ElementsAre(kToThree, TcpConnection{.local = "fe80::1:9", .peer = "fe80::2:10"}));
  EXPECT_EQ(info.malformed, 0u);
}

// The time without room at the receiver is a part of the busy time, and may stand on another line.
TEST(TcpInfo, AReceiverThatIsLateToReadMakesNoConnectionBusy) {
  const auto busy_ms = [](const std::string& details) {
    const TcpInfo info = ParseTcpInfo("0 0 10.0.0.1:1 10.0.0.2:2\n" + details);
    EXPECT_THAT(info.connections, SizeIs(1)) << details;
    return info.connections.empty() ? -1 : info.connections[0].busy_ns / 1'000'000;
  };
  EXPECT_EQ(busy_ms("\t busy:500ms rwnd_limited:420ms(84.0%) sndbuf_limited:30ms(6.0%)\n"), 80);
  EXPECT_EQ(busy_ms("\t rwnd_limited:420ms(84.0%)\n\t busy:500ms\n"), 80);
  EXPECT_EQ(busy_ms("\t busy:500ms rwnd_limited:501ms(100.0%)\n"), 0);
}

TEST(TcpInfo, OfWhatIsListedAgainTheLastCounts) {
  const TcpInfo info =
      ParseTcpInfo("0 0 10.77.0.4:37922 10.77.0.3:44609\n\t bytes_acked:5 busy:1ms\n" + kLines);
  EXPECT_THAT(info.connections, ElementsAre(kToThree));
}

TEST(TcpInfo, WhatTheEndCutsOffIsCountedAndNotUsed) {
  for (size_t length = 0; length < kLines.size(); ++length) {
    const TcpInfo info = ParseTcpInfo(kLines.substr(0, length));
    EXPECT_THAT(info.connections, IsEmpty()) << length;
    EXPECT_EQ(info.truncated + info.malformed, length > 0 ? 1u : 0u) << length;
  }
}

TEST(TcpInfo, NumbersThatAreNoneMakeTheConnectionUnusable) {
  for (const std::string bad :
       {"bytes_acked:7x", "bytes_acked:99999999999999999999", "bytes_acked:", "busy:572",
        "busy:-1ms", "busy:9999999999999999999ms", "rwnd_limited:4", "retrans:1"}) {
    const TcpInfo info = ParseTcpInfo("0 0 10.77.0.4:1 10.77.0.3:2\n\t " + bad + "\n" + kLines);
    EXPECT_THAT(info.connections, ElementsAre(kToThree)) << bad;
    EXPECT_EQ(info.malformed, 1u) << bad;
  }
}

TEST(TcpInfo, GarbageIsCounted) {
  const TcpInfo info = ParseTcpInfo(
      std::string("ss: command not found\n\x1f\x8b\0\xff garbage\n10.0.0.1:99999 10.0.0.2:5\n",
                  61) +
      kLines);
  EXPECT_THAT(info.connections, SizeIs(1));
  EXPECT_EQ(info.malformed, 3u);
}

TEST(TcpInfo, AnyBytesAreTaken) {
  std::mt19937 random(7);
  for (int i = 0; i < 2'000; ++i) {
    std::string text = kLines + kLines;
    for (int changes = 0; changes < 8; ++changes)
      text[random() % text.size()] = static_cast<char>(random());
    EXPECT_LE(ParseTcpInfo(text).connections.size(), 2u);
  }
}

}  // namespace
}  // namespace eroica
