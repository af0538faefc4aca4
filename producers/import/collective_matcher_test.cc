#include "producers/import/collective_matcher.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace eroica {
namespace {

constexpr auto kAllReduce = CollectiveOperation::kAllReduce;
constexpr auto kAllGather = CollectiveOperation::kAllGather;

class Job {
 public:
  explicit Job(uint32_t world_size) : world_size_(world_size) {}

  RankTrace& Rank(uint32_t rank) {
    auto trace = std::make_unique<RankTrace>(budget_);
    trace->rank = rank;
    traces_.push_back(std::move(trace));
    return *traces_.back();
  }
  MatchReport Match() {
    std::vector<RankTrace*> traces;
    for (const auto& trace : traces_) traces.push_back(trace.get());
    return MatchCollectives(JobId{"job"}, *World::OfSize(world_size_), traces);
  }

 private:
  SortBudget budget_;
  uint32_t world_size_;
  std::vector<std::unique_ptr<RankTrace>> traces_;
};

MemberList Members(const std::vector<int64_t>& ranks) { return *MemberList::Of(ranks); }

void Call(RankTrace& trace, CollectiveOperation operation, uint64_t bytes, int32_t group = -1,
          int64_t sequence = -1) {
  CollectiveCall call;
  call.order_ns = static_cast<int64_t>(trace.collectives.size());
  call.operation = operation;
  call.bytes = bytes;
  call.group = group;
  call.stated_sequence = sequence;
  trace.collectives.push_back(call);
}

void PointToPoint(RankTrace& trace, CollectiveOperation operation, int32_t group_peer,
                  uint64_t bytes = 8) {
  Call(trace, operation, bytes);
  trace.collectives.back().group_peer = group_peer;
}

TEST(MatchCollectives, ByOrderWhereAllAgree) {
  Job job(2);
  RankTrace& a = job.Rank(0);
  RankTrace& b = job.Rank(1);
  for (RankTrace* trace : {&a, &b}) {
    Call(*trace, kAllReduce, 8);
    Call(*trace, kAllGather, 4);
    Call(*trace, kAllReduce, 16);
  }
  EXPECT_EQ(job.Match().matched, 6u);
  EXPECT_EQ(a.collectives[2].sequence, 1u);  // counted per operation
  EXPECT_EQ(a.collectives[1].sequence, 0u);
  ASSERT_EQ(a.communicators.size(), 1u);
  EXPECT_EQ(a.communicators, b.communicators);
  EXPECT_EQ(a.communicators[0].ranks, (std::vector<uint32_t>{0, 1}));
}

TEST(MatchCollectives, NotWhereOneDiffers) {
  for (const int flaw : {0, 1, 2, 3}) {
    Job job(2);
    RankTrace& a = job.Rank(0);
    RankTrace& b = job.Rank(1);
    Call(a, kAllReduce, 8);
    Call(a, kAllGather, 8);
    if (flaw != 3) Call(b, flaw == 0 ? kAllGather : kAllReduce, flaw == 1 ? 16 : 8);
    if (flaw < 2) Call(b, flaw == 0 ? kAllReduce : kAllGather, 8);
    const MatchReport report = job.Match();
    EXPECT_EQ(report.matched, 0u) << flaw;
    ASSERT_EQ(report.warnings.size(), 1u);
    EXPECT_NE(report.warnings[0].find("order of collectives differs"), std::string::npos)
        << report.warnings[0];
  }
}

TEST(MatchCollectives, AllToAllMayDifferInSize) {
  Job job(2);
  Call(job.Rank(0), CollectiveOperation::kAllToAll, 100);
  Call(job.Rank(1), CollectiveOperation::kAllToAll, 900);
  EXPECT_EQ(job.Match().matched, 2u);
}

// Two groups that do the same: all four ranks agree on the order, and yet the calls are not one
// collective of four.
TEST(MatchCollectives, NotAcrossGroupsThatNothingTells) {
  Job job(4);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    RankTrace& trace = job.Rank(rank);
    trace.groups = {{"0", "default_pg", Members({0, 1, 2, 3}), 4},
                    {rank < 2 ? "1" : "2", "dp", rank < 2 ? Members({0, 1}) : Members({2, 3}), 2}};
    Call(trace, kAllReduce, 8);
  }
  const MatchReport report = job.Match();
  EXPECT_EQ(report.matched, 0u);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("flight-recorder dumps"), std::string::npos);
}

TEST(MatchCollectives, AsStated) {
  Job job(4);
  std::vector<RankTrace*> traces;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    traces.push_back(&job.Rank(rank));
    traces[rank]->groups = {
        {rank < 2 ? "1" : "2", "dp", rank < 2 ? Members({0, 1}) : Members({2, 3}), 2}};
    // The capture of rank 1 began one collective later.
    if (rank != 1) Call(*traces[rank], kAllReduce, 8, 0, 40);
    Call(*traces[rank], kAllReduce, 8, 0, 41);
  }
  EXPECT_EQ(job.Match().matched, 7u);
  EXPECT_EQ(traces[0]->collectives[1].sequence, 41u);
  EXPECT_EQ(traces[1]->collectives[0].sequence, 41u);
  EXPECT_EQ(traces[0]->communicators[0].id, traces[1]->communicators[0].id);
  EXPECT_NE(traces[0]->communicators[0].id, traces[2]->communicators[0].id);
}

TEST(MatchCollectives, FewOfManyRanksShowNoOrder) {
  Job job(8);
  Call(job.Rank(0), kAllReduce, 8);
  Call(job.Rank(1), kAllReduce, 8);
  EXPECT_EQ(job.Match().matched, 0u);
}

// Pipelines {0, 1} and {2, 3}, data parallel {0, 2} and {1, 3}: the peer's rank in the group fits
// several groups, but only one makes all pair up.
class PipelineJob : public Job {
 public:
  PipelineJob() : Job(4) {
    for (uint32_t rank = 0; rank < 4; ++rank) {
      traces.push_back(&Rank(rank));
      const uint32_t pipeline = rank / 2;
      traces[rank]->groups = {
          {"0", "default_pg", Members({0, 1, 2, 3}), 4},
          {"p" + std::to_string(pipeline), "mesh_pp", Members({2 * pipeline, 2 * pipeline + 1}), 2},
          {"d" + std::to_string(rank % 2), "mesh_dp", Members({rank % 2, rank % 2 + 2}), 2}};
    }
  }
  std::vector<RankTrace*> traces;
};

TEST(MatchCollectives, SendsMeetReceivesInTheGroupThatFits) {
  PipelineJob job;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const bool first = rank % 2 == 0;
    PointToPoint(*job.traces[rank], first ? CollectiveOperation::kSend : CollectiveOperation::kRecv,
                 first ? 1 : 0);
    PointToPoint(*job.traces[rank], first ? CollectiveOperation::kSend : CollectiveOperation::kRecv,
                 first ? 1 : 0, 16);
    PointToPoint(*job.traces[rank], first ? CollectiveOperation::kRecv : CollectiveOperation::kSend,
                 first ? 1 : 0);
  }
  // Within the data-parallel groups rank 0 would send to rank 2, which receives nothing from it:
  // only the pipeline makes all pair up.
  const MatchReport report = job.Match();
  EXPECT_EQ(report.matched, 12u) << (report.warnings.empty() ? "" : report.warnings[0]);
  EXPECT_EQ(job.traces[2]->collectives[0].peer, 3);
  EXPECT_EQ(job.traces[3]->collectives[0].peer, 2);
  EXPECT_EQ(job.traces[3]->collectives[1].sequence, 1u);
  EXPECT_EQ(job.traces[3]->collectives[2].sequence, 0u);
  EXPECT_EQ(job.traces[2]->communicators[0].description, "mesh_pp");
}

TEST(MatchCollectives, SendsThatPairUpNowhereStayUnmatched) {
  PipelineJob job;
  PointToPoint(*job.traces[0], CollectiveOperation::kSend, 1);
  const MatchReport report = job.Match();
  EXPECT_EQ(report.matched, 0u);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_NE(report.warnings[0].find("sends and receives are not matched"), std::string::npos);
}

}  // namespace
}  // namespace eroica
