#include "diagnosis/link_matrix/route_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/link_matrix/rail_job.h"

namespace eroica {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// What the finding of a job with one slow place suggests.
std::string ActionOf(const RailJob& job) {
  const std::vector<Finding> findings = job.Evaluate();
  EXPECT_THAT(findings, SizeIs(1));
  return findings.empty() ? "" : findings[0].suggested_action;
}

TEST(RouteAdvice, ASlowPortIsGoneAroundByTheOtherPortsOfItsHost) {
  RailJob job(4, 4);
  job.SlowNic(5, 15);
  EXPECT_THAT(ActionOf(job),
              AllOf(HasSubstr("Meanwhile route rings around the pairs "), HasSubstr("5-9"),
                    HasSubstr("1-5"),
                    HasSubstr("the ports of ranks 4, 6 and 7 on the same host carry data at full "
                              "speed.")));
}

TEST(RouteAdvice, OfManyPairsTheWorstAreListed) {
  RailJob job(4, 8);
  job.Slow(15, [&job](uint32_t source, uint32_t destination) {
    return job.HostOf(source) == 2 || job.HostOf(destination) == 2;
  });
  EXPECT_THAT(ActionOf(job),
              AllOf(HasSubstr("and 12 more (rank-rank)"),
                    HasSubstr("order the ranks so that each ring enters and leaves these hosts "
                              "once."),
                    Not(HasSubstr("at full speed"))));
}

TEST(RouteAdvice, NvlinkHasNoOtherPortOfTheHost) {
  RailJob job(2, 8);
  job.Connect(2, 3, 60, Resource::kNvlink).Connect(1, 2, 60, Resource::kNvlink);
  EXPECT_THAT(ActionOf(job), AllOf(HasSubstr("around the pairs "), Not(HasSubstr("port"))));
}

// Where producers know communicators, those that use the slow pair are named.
TEST(RouteAdvice, NamesTheRingsThatUseThePair) {
  TrainingView training(2);
  const CrossRankView empty(training.batches(), {});
  CollectiveSummary summary;
  summary.communicator = CommId{7};
  summary.communicator_description = "DATA_PARALLEL_GROUP";
  const std::vector<CollectiveSummary> summaries = {summary};
  const CrossRankView view(training.batches(), summaries);
  const std::vector<LinkCell> cells = {
      {.source = 0, .destination = 1, .resource = Resource::kNvlink, .communicator = CommId{7}},
      {.source = 1, .destination = 0, .resource = Resource::kNvlink, .communicator = CommId{9}}};
  HotSpot spot{.kind = HotSpotKind::kLink, .resource = Resource::kNvlink, .ranks = {0}};
  spot.cells = {&cells[0]};
  EXPECT_EQ(RouteAdvice(view, spot, cells, {}),
            "Meanwhile route the rings of DATA_PARALLEL_GROUP around the pair 0-1 (rank-rank).");
  spot.cells = {&cells[0], &cells[1]};
  EXPECT_EQ(RouteAdvice(view, spot, cells, {}),
            "Meanwhile route the rings of DATA_PARALLEL_GROUP and communicator 0000000000000009 "
            "around the pair 0-1 (rank-rank).");
  EXPECT_THAT(RouteAdvice(empty, spot, cells, {}), HasSubstr("communicator 0000000000000007"));
}

}  // namespace
}  // namespace eroica
