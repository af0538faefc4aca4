#include "diagnosis/measurements/device_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/measurements/device_job.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Ranks of hosts of eight, one role a `per_role` of them.
TrainingView Job(uint32_t ranks, uint32_t per_role) {
  TrainingView view = DeviceJob(std::vector<DeviceRank>(ranks)).view();
  for (uint32_t rank = 0; rank < ranks; ++rank)
    view.Role(rank, "stage" + std::to_string(rank / per_role));
  return view;
}

std::vector<std::string> PlacesOf(TrainingView job) {
  const CrossRankView view(job.batches(), job.summaries());
  std::vector<std::string> keys;
  for (const Place& place : PlacesWithoutPeers(view)) keys.push_back(place.key);
  return keys;
}

TEST(DeviceCalls, PlacesAreHostsThatHoldARoleAndRanksThatAreOne) {
  EXPECT_THAT(PlacesOf(Job(16, 8)), ElementsAre("host0", "host1"));
  EXPECT_THAT(PlacesOf(Job(16, 4)), ElementsAre("host0", "host1"));
  EXPECT_THAT(PlacesOf(Job(2, 1)), ElementsAre("rank 0 on host0", "rank 1 on host0"));
}

TEST(DeviceCalls, WhereRolesSpanHostsOrPlacesAreOneOrTooManyThereAreNone) {
  EXPECT_THAT(PlacesOf(Job(16, 16)), IsEmpty());
  EXPECT_THAT(PlacesOf(Job(8, 8)), IsEmpty());
  EXPECT_THAT(PlacesOf(Job(kMostPlaces + 1, 1)), IsEmpty());
}

TEST(DeviceCalls, ARowForEachKernelAndPlaceOverAllOfItsRanks) {
  TrainingView job = Job(16, 8);
  for (FunctionPattern& pattern : job.batches()[3].patterns)
    pattern.duration_mean_ns *= 1.8;  // a rank of eight
  const CrossRankView view(job.batches(), job.summaries());
  const std::vector<FunctionPattern> rows = DeviceCallsOf(view);
  EXPECT_EQ(rows.size(), 2 * 7);
  double mean_ns[2] = {};
  for (const FunctionPattern& row : rows) {
    if (row.name == "gemm_1") mean_ns[row.stack == "host1"] = row.duration_mean_ns;
  }
  EXPECT_NEAR(mean_ns[0] / mean_ns[1], 1.1, 1e-9);
  EXPECT_EQ(view.rank_times().device_calls, rows);
}

}  // namespace
}  // namespace eroica
