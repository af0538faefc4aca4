#include "producers/host/endpoint_exchange.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <chrono>

#include "producers/host/testing/made_up_files.h"
#include "schemas/time_unit.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Place = PeerTable::Place;

// A rank that ticks.
struct Member {
  Member(const MadeUpFiles& files, uint32_t rank, std::string host = "h", uint32_t world_size = 4,
         std::string network = "")
      : exchange({.folder = files.path(),
                  .rank = rank,
                  .world_size = world_size,
                  .host = std::move(host),
                  .network = std::move(network),
                  .process = static_cast<int>(1'000 + rank)}) {}
  void Run(int seconds = 2) {
    for (int i = 0; i < seconds * 10; ++i) exchange.Tick(now_ns += kNsPerSecond / 10);
  }
  EndpointExchange exchange;
  int64_t now_ns = 1'000 * kNsPerSecond;
};

TEST(EndpointExchange, RanksLearnEachOthersEnds) {
  const MadeUpFiles files;
  Member a(files, 0);
  Member b(files, 3);
  a.exchange.SetEnds({"10.0.0.1:1"}, {"10.0.0.2:2"});
  b.exchange.SetEnds({"10.0.0.2:2"}, {"10.0.0.1:1"});
  for (int i = 0; i < 3; ++i) {
    a.Run();
    b.Run();
  }
  const auto found = a.exchange.table().Find(0, "10.0.0.1:1", "10.0.0.2:2");
  EXPECT_EQ(found.place, Place::kPeer);
  EXPECT_EQ(found.peer, 3u);
  EXPECT_EQ(b.exchange.table().Find(3, "10.0.0.2:2", "10.0.0.1:1").peer, 0u);
  EXPECT_THAT(a.exchange.job_processes(), ElementsAre(1'003));
}

// Nanoseconds in 64 bits end with the year 2262.
TEST(EndpointExchange, AFileOfTheFarFutureIsNotStale) {
  const MadeUpFiles files;
  Member a(files, 0);
  Member b(files, 3);
  a.exchange.SetEnds({"10.0.0.1:1"}, {"10.0.0.2:2"});
  b.exchange.SetEnds({"10.0.0.2:2"}, {"10.0.0.1:1"});
  b.Run();
  constexpr time_t kYear2400 = 13'569'465'600;
  const timespec times[] = {{.tv_sec = kYear2400, .tv_nsec = 0},
                            {.tv_sec = kYear2400, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (files.path() + "/rank-3.ends").c_str(), times, 0), 0);
  for (int i = 0; i < 3; ++i) a.Run();
  EXPECT_EQ(a.exchange.table().Find(0, "10.0.0.1:1", "10.0.0.2:2").peer, 3u);
}

// The kernel takes what goes from one of its addresses to another over loopback, also where each
// rank is bound to the address of a NIC of its own.
TEST(EndpointExchange, NoNetworkLiesBetweenRanksOfOneNetworkNamespace) {
  const auto place = [](const std::string& network_of_a, const std::string& network_of_b) {
    const MadeUpFiles files;
    Member a(files, 0, "h", 4, network_of_a);
    Member b(files, 3, "h", 4, network_of_b);
    a.exchange.SetEnds({"10.0.0.1:1"}, {"10.0.1.1:2"});
    b.exchange.SetEnds({"10.0.1.1:2"}, {"10.0.0.1:1"});
    for (int i = 0; i < 3; ++i) {
      a.Run();
      b.Run();
    }
    return a.exchange.table().Find(0, "10.0.0.1:1", "10.0.1.1:2").place;
  };
  EXPECT_EQ(place("boot 1/net:[7]", "boot 1/net:[7]"), Place::kElsewhere);
  EXPECT_EQ(place("boot 1/net:[7]", "boot 1/net:[8]"), Place::kPeer);
  EXPECT_EQ(place("boot 1/net:[7]", "boot 2/net:[7]"), Place::kPeer);
  EXPECT_EQ(place("", ""), Place::kPeer);
}

TEST(EndpointExchange, ASocketThatComesLaterIsAskedAbout) {
  const MadeUpFiles files;
  Member a(files, 0);
  Member b(files, 1);
  b.exchange.SetEnds({"10.0.0.2:2", "10.0.0.2:3"}, {});
  b.Run();
  a.exchange.SetEnds({"10.0.0.1:1"}, {"10.0.0.2:2"});
  a.Run(20);
  a.exchange.SetEnds({"10.0.0.1:1", "10.0.0.1:4"}, {"10.0.0.2:2", "10.0.0.2:3"});
  a.Run(200);
  EXPECT_EQ(a.exchange.table().Find(0, "10.0.0.1:4", "10.0.0.2:3").place, Place::kPeer);
  EXPECT_EQ(a.exchange.table().Find(0, "10.0.0.1:1", "10.0.0.2:2").place, Place::kPeer);
}

// Two hosts whose private addresses are equal.
TEST(EndpointExchange, EndsOfSeveralRanksAreNobodys) {
  const MadeUpFiles files;
  Member a(files, 0);
  Member b(files, 1, "other");
  Member c(files, 2, "third");
  b.exchange.SetEnds({"172.17.0.2:5"}, {});
  c.exchange.SetEnds({"172.17.0.2:5"}, {});
  b.Run();
  c.Run();
  a.exchange.SetEnds({"10.0.0.1:1"}, {"172.17.0.2:5"});
  a.Run(10);
  EXPECT_EQ(a.exchange.table().Find(0, "10.0.0.1:1", "172.17.0.2:5").place, Place::kElsewhere);
  EXPECT_THAT(a.exchange.job_processes(), IsEmpty());  // on other hosts
}

TEST(EndpointExchange, AFileOfARankThatIsNoMoreIsForgotten) {
  const MadeUpFiles files;
  Member a(files, 0);
  {
    Member b(files, 1);
    b.exchange.SetEnds({"10.0.0.2:2"}, {});
    b.Run();
  }
  a.exchange.SetEnds({"10.0.0.1:1"}, {"10.0.0.2:2"});
  a.Run(10);
  ASSERT_EQ(a.exchange.table().Find(0, "10.0.0.1:1", "10.0.0.2:2").place, Place::kPeer);
  const timeval long_ago{.tv_sec = 1'000, .tv_usec = 0};
  const timeval times[2] = {long_ago, long_ago};
  ASSERT_EQ(utimes(files.At("rank-1.ends").c_str(), times), 0);
  a.Run(200);
  EXPECT_EQ(a.exchange.table().Find(0, "10.0.0.1:1", "10.0.0.2:2").place, Place::kElsewhere);
  EXPECT_THAT(a.exchange.job_processes(), IsEmpty());
}

TEST(EndpointExchange, FilesThatAreHostileAreNotUsed) {
  const MadeUpFiles files;
  const RankEnds liar{.rank = 0, .host = "h", .process = 5, .ends = {"10.0.0.2:2"}};
  files.Write("rank-1.ends", FormatRankEnds(liar));  // another rank's number
  files.Write("rank-2.ends", std::string(1 << 20, 'x'));
  files.Write("elsewhere",
              FormatRankEnds({.rank = 3, .host = "h", .process = 6, .ends = {"10.0.0.2:2"}}));
  ASSERT_EQ(symlink(files.At("elsewhere").c_str(), files.At("rank-3.ends").c_str()), 0);
  Member a(files, 0, "h", 5);
  ASSERT_EQ(mkfifo(files.At("rank-4.ends").c_str(), 0600), 0);  // would block who opens it
  a.exchange.SetEnds({"10.0.0.1:1"}, {"10.0.0.2:2"});
  a.Run(10);
  EXPECT_EQ(a.exchange.table().Find(0, "10.0.0.1:1", "10.0.0.2:2").place, Place::kElsewhere);
  EXPECT_THAT(a.exchange.job_processes(), IsEmpty());
}

TEST(EndpointExchange, AFolderThatOthersMayWriteIsNotUsed) {
  const MadeUpFiles files;
  ASSERT_EQ(chmod(files.path().c_str(), 0777), 0);
  Member a(files, 0);
  a.Run();
  EXPECT_FALSE(std::filesystem::exists(files.At("rank-0.ends")));
  EXPECT_FALSE(a.exchange.usable());
  EndpointExchange nowhere({.folder = "/nowhere/at/all", .rank = 0, .world_size = 2});
  nowhere.Tick(kNsPerSecond);
  EndpointExchange none({.rank = 0, .world_size = 2});
  none.Tick(kNsPerSecond);
}

TEST(EndpointExchange, ItsOwnFileIsWholeAndFresh) {
  const MadeUpFiles files;
  Member a(files, 2);
  a.exchange.SetEnds({"10.0.0.1:1"}, {});
  a.Run();
  RankEnds ends;
  ASSERT_TRUE(ParseRankEnds(files.Read("rank-2.ends"), &ends));
  EXPECT_EQ(ends, (RankEnds{.rank = 2, .host = "h", .process = 1'002, .ends = {"10.0.0.1:1"}}));
  files.Remove("rank-2.ends");
  a.Run(11);  // written again, though nothing changed
  EXPECT_TRUE(ParseRankEnds(files.Read("rank-2.ends"), &ends));
}

TEST(RankEnds, WhatIsCutOffIsNotUsed) {
  RankEnds ends{.rank = 7, .host = "h", .process = 1, .ends = {"10.0.0.1:1", "[::1]:2"}};
  const std::string text = FormatRankEnds(ends);
  RankEnds read;
  ASSERT_TRUE(ParseRankEnds(text, &read));
  EXPECT_EQ(read, ends);
  for (size_t cut = 0; cut < text.size(); ++cut)
    EXPECT_FALSE(ParseRankEnds(text.substr(0, cut), &read)) << cut;
  EXPECT_FALSE(ParseRankEnds("eroica-ends 2\nrank 1\nwhole\n", &read));
  EXPECT_FALSE(ParseRankEnds("eroica-ends 1\nhost x\nwhole\n", &read));
  EXPECT_FALSE(ParseRankEnds("eroica-ends 1\nrank 99999999999\nwhole\n", &read));
  ends.ends.assign(10'000, "10.0.0.1:12345");
  ASSERT_TRUE(ParseRankEnds(FormatRankEnds(ends), &read));
  EXPECT_LT(read.ends.size(), 10'000u);
  EXPECT_LE(FormatRankEnds(ends).size(), 65'536u);
}

}  // namespace
}  // namespace eroica
