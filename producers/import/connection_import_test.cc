#include "producers/import/connection_import.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "producers/import/batch_collector.h"
#include "producers/import/test_folder.h"
#include "producers/import/trace_import.h"
#include "schemas/codec.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TcpInfo Listing(std::vector<TcpConnection> connections) {
  return {.connections = std::move(connections)};
}

TEST(JoinConnections, TheOtherEndIsAnotherRanks) {
  const RankConnections joined = JoinConnections(
      {{0,
        Listing({{"10.0.0.1:5", "10.0.0.2:6", 100, 7, 1}, {"10.0.0.1:8", "10.0.0.2:9", 50, 3, 0}})},
       {1,
        Listing({{"10.0.0.2:6", "10.0.0.1:5", 10, 2, 0}, {"10.0.0.2:9", "10.0.0.1:8", 0, 0, 0}})}});
  EXPECT_THAT(joined.samples.at(0), ElementsAre(ConnectionSample{
                                        .peer = 1, .bytes = 150, .busy_ns = 10, .retransmits = 1}));
  EXPECT_THAT(joined.samples.at(1),
              ElementsAre(ConnectionSample{.peer = 0, .bytes = 10, .busy_ns = 2}));
  EXPECT_EQ(joined.elsewhere, 0u);
}

TEST(JoinConnections, WhatLeadsElsewhereOrStaysOnTheHostIsNotUsed) {
  const RankConnections joined =
      JoinConnections({{0, Listing({{"10.0.0.1:5", "10.9.9.9:443", 100, 7, 0},
                                    {"10.0.0.1:8", "10.0.0.1:9", 50, 3, 0},
                                    {"10.0.0.1:9", "10.0.0.1:8", 50, 3, 0}})},
                       {1, {}}});
  EXPECT_THAT(joined.samples, IsEmpty());
  EXPECT_EQ(joined.elsewhere, 3u);
}

TEST(JoinConnections, WhatStaysOnTheHostPassesNoNicWhateverItsAddresses) {
  const RankConnections over_loopback =
      JoinConnections({{0, Listing({{"127.0.1.1:5", "127.0.1.2:6", 100, 7, 0}})},
                       {1, Listing({{"127.0.1.2:6", "127.0.1.1:5", 100, 7, 0}})}});
  EXPECT_THAT(over_loopback.samples, IsEmpty());
  EXPECT_EQ(over_loopback.elsewhere, 2u);
  // Rank 0 has ends at both addresses of its host: what it sends to the second one stays there, and
  // what it sends to rank 2 does not.
  const RankConnections of_two_nics = JoinConnections(
      {{0,
        Listing({{"10.0.0.1:5", "10.0.1.1:6", 100, 7, 0}, {"10.0.1.1:8", "10.0.1.2:9", 50, 3, 0}})},
       {1, Listing({{"10.0.1.1:6", "10.0.0.1:5", 0, 0, 0}})},
       {2, Listing({{"10.0.1.2:9", "10.0.1.1:8", 0, 0, 0}})}});
  EXPECT_THAT(of_two_nics.samples.at(0),
              ElementsAre(ConnectionSample{.peer = 2, .bytes = 50, .busy_ns = 3}));
}

TEST(JoinConnections, AListOfAWholeHostTellsNoRank) {
  const TcpInfo host = Listing({{"10.0.0.1:5", "10.0.0.2:6", 100, 7, 0}});
  const RankConnections joined = JoinConnections(
      {{0, host}, {1, host}, {2, Listing({{"10.0.0.2:6", "10.0.0.1:5", 9, 1, 0}})}});
  EXPECT_THAT(joined.samples, IsEmpty());
  EXPECT_EQ(joined.ambiguous, 1u);
}

TEST(JoinConnections, CountersThatAreTooLargeStopAtTheLargest) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const RankConnections joined =
      JoinConnections({{0, Listing({{"10.0.0.1:5", "10.0.0.2:6", ~0ull, kMost, 1},
                                    {"10.0.0.1:8", "10.0.0.2:6", 50, kMost, 0}})},
                       {1, Listing({{"10.0.0.2:6", "10.0.0.1:5", 0, 0, 0}})}});
  EXPECT_EQ(joined.samples.at(0).front().bytes, ~0ull);
  EXPECT_EQ(joined.samples.at(0).front().busy_ns, CodecLimits::kMaxTimeNs);
}

std::string Trace(int rank) {
  std::string events;
  for (int step = 0; step < 3; ++step) {
    events += fmt::format(
        R"({}{{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{}", "pid": 1, "tid": 1, "ts": {}, "dur": 90}})",
        step == 0 ? "" : ", ", step, 1000 + 100 * step);
    events += fmt::format(
        R"(, {{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": {}, "dur": 50}})",
        1010 + 100 * step);
  }
  return fmt::format(
      R"({{"distributedInfo": {{"backend": "gloo", "rank": {}, "world_size": 2}}, "traceEvents": [{}], "traceName": "t"}})",
      rank, events);
}

// Two ranks with TCP_INFO beside their traces.
class ConnectionImport : public testing::Test {
 protected:
  ConnectionImport() {
    for (const int rank : {0, 1}) folder.Write(fmt::format("rank{}.json", rank), Trace(rank));
    folder.Write("ss_rank0.txt", "0 0 10.0.0.1:5 10.0.0.2:6\n\t bytes_acked:100 busy:7ms\n");
    folder.Write("ss_rank1.txt",
                 "0 0 10.0.0.2:6 10.0.0.1:5\n\t bytes_acked:10 busy:1ms retrans:0/2\n");
  }
  ImportReport Import() {
    const std::filesystem::path path = folder.path();
    absl::StatusOr<ImportReport> report = ImportTraces({&path, 1}, {}, sink, nullptr);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *std::move(report) : ImportReport{};
  }
  std::vector<ConnectionSample> Samples(uint32_t rank) const {
    std::vector<ConnectionSample> samples;
    for (const EventBatch& batch : sink.batches) {
      if (batch.identity.rank.value == rank)
        samples.insert(samples.end(), batch.connections.begin(), batch.connections.end());
    }
    return samples;
  }
  TestFolder folder;
  BatchCollector sink;
};

TEST_F(ConnectionImport, IsSpreadOverTheSteps) {
  const ImportReport report = Import();
  EXPECT_EQ(report.connections, 6u);
  EXPECT_THAT(report.ToText(), HasSubstr("6 connection samples"));
  const std::vector<ConnectionSample> samples = Samples(0);
  ASSERT_EQ(samples.size(), 3u);
  uint64_t bytes = 0;
  int64_t busy_ns = 0;
  for (const ConnectionSample& sample : samples) {
    EXPECT_EQ(sample.peer, 1u);
    EXPECT_NEAR(static_cast<double>(sample.bytes), 33, 1);
    bytes += sample.bytes;
    busy_ns += sample.busy_ns;
  }
  EXPECT_EQ(bytes, 100u);
  EXPECT_EQ(busy_ns, 7'000'000);
  EXPECT_LT(samples[0].time_ns, samples[1].time_ns);
}

TEST_F(ConnectionImport, AFileThatIsNoneIsSaidAndTheTracesCount) {
  folder.Write("ss_rank1.txt",
               "\x7f"
               "ELF\x01\x02\n\x03");
  const ImportReport report = Import();
  EXPECT_EQ(report.ranks.size(), 2u);
  EXPECT_EQ(report.connections, 0u);
  EXPECT_THAT(report.ToText(), HasSubstr("ss_rank1.txt lists no connection"));
}

TEST_F(ConnectionImport, AFileThatIsCutOffIsSaid) {
  folder.Write("ss_rank1.txt",
               "0 0 10.0.0.2:6 10.0.0.1:5\n\t bytes_acked:10 busy:1ms\n0 0 10.0.0.2:7 "
               "10.0.0.1:9\n\t bytes_ack");
  const ImportReport report = Import();
  EXPECT_THAT(report.ToText(), HasSubstr("ss_rank1.txt is cut off"));
  EXPECT_EQ(report.connections, 6u) << "what was whole counts";
}

TEST_F(ConnectionImport, ARankWithoutAFileIsSaid) {
  std::filesystem::remove(folder.path() / "ss_rank1.txt");
  const ImportReport report = Import();
  EXPECT_THAT(report.ToText(), HasSubstr("1 of 2 ranks have no TCP_INFO"));
  EXPECT_EQ(report.connections, 0u) << "the other end is nobody's";
}

TEST_F(ConnectionImport, CompressedFilesAreRead) {
  std::filesystem::remove(folder.path() / "ss_rank0.txt");
  folder.Write("ss_rank0.txt.gz",
               TestFolder::Gzip("0 0 10.0.0.1:5 10.0.0.2:6\n\t bytes_acked:100 busy:7ms\n"));
  EXPECT_EQ(Import().connections, 6u);
}

}  // namespace
}  // namespace eroica
