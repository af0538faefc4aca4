#include "diagnosis/link_matrix/other_traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "diagnosis/link_matrix/link_matrix_operator.h"
#include "diagnosis/measurements/training_view.h"

namespace eroica {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kNic = 45;  // GB/s

// Four stages of a pipeline, each of four ranks on a host of its own: neighbors exchange
// activations, the first and the last their embeddings over eight channels.
class Pipeline {
 public:
  static constexpr uint32_t kStages = 4;
  static constexpr uint32_t kRanks = 4;  // of a stage

  // hosts: of a stage; where it is two their ranks exchange gradients. from_first: the speed
  // between the first stage and the second. activations: by what gradients and embeddings amount
  // to.
  explicit Pipeline(double embedding_speed, uint32_t hosts = 1, double from_first = kNic,
                    double activations = 1)
      : job_(kStages * kRanks) {
    job_.RunOnAll("gemm", 50, "", FunctionClass::kGpuCompute);
    for (uint32_t rank = 0; rank < kStages * kRanks; ++rank)
      job_.batches()[rank].host = "host" + std::to_string(rank * hosts / kRanks);
    for (uint32_t stage = 0; stage < kStages && hosts == 2; ++stage) {
      for (uint32_t rank = stage * kRanks; rank < stage * kRanks + 2; ++rank)
        Exchange(AddGroup("gradients", {rank, rank + 2}), rank, rank + 2, kNic, 2);
    }
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      const CommId pipeline =
          AddGroup("pipeline", {rank, rank + kRanks, rank + 2 * kRanks, rank + 3 * kRanks});
      for (uint32_t stage = 0; stage + 1 < kStages; ++stage)
        Exchange(pipeline, rank + stage * kRanks, rank + (stage + 1) * kRanks,
                 stage == 0 ? from_first : kNic, 1, activations);
      const uint32_t last = rank + (kStages - 1) * kRanks;
      Exchange(AddGroup("embedding", {rank, last}), rank, last, embedding_speed, 8);
    }
    job_.Finish();
  }
  // Both ways; the port's speed while nothing else goes through it.
  Pipeline& Exchange(CommId communicator, uint32_t one, uint32_t other, double port_speed,
                     uint8_t channels, double share_of_bytes = 1) {
    const double bytes = 800e6 * share_of_bytes;  // of eight steps
    const auto busy_ns = static_cast<int64_t>(bytes / port_speed * channels);
    for (const auto& [source, peer] : {std::pair(one, other), std::pair(other, one)}) {
      job_.batches()[source].connections.push_back({.peer = peer,
                                                    .bytes = static_cast<uint64_t>(bytes),
                                                    .busy_ns = busy_ns,
                                                    .channels = channels,
                                                    .communicator = communicator});
    }
    return *this;
  }
  CommId AddGroup(const std::string& description, const std::vector<uint32_t>& ranks) {
    CollectiveSummary& summary = job_.AddSummary();
    summary.communicator_description = description;
    for (const uint32_t rank : ranks) {
      summary.members.push_back({.rank = RankId{rank}});
      job_.batches()[rank].communicators.push_back(summary.communicator);
    }
    return summary.communicator;
  }
  Pipeline& ForgetChannels() {
    for (PatternBatch& batch : job_.batches()) {
      for (ConnectionPattern& connection : batch.connections) connection.channels = 0;
    }
    return *this;
  }
  Pipeline& ForgetSummaries() {
    job_.summaries().clear();
    return *this;
  }
  std::vector<Finding> Evaluate() { return ClaimsOf<LinkMatrixOperator>(job_); }

 private:
  TrainingView job_;
};

TEST(OtherTraffic, WhatOnlyTwoHostsExchangeIsJudgedByTheirOtherTraffic) {
  const std::vector<Finding> findings = Pipeline(20).Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "link");
  EXPECT_THAT(findings[0].culprits[0].host, AnyOf("host0", "host3"));
}

TEST(OtherTraffic, ChannelsShareAPort) {
  EXPECT_THAT(Pipeline(kNic).Evaluate(), IsEmpty()) << "each is an eighth as fast";
}

// As in a window that could not wait for them: 2,560 connections of a job of 10,240 ranks were
// called slow.
TEST(OtherTraffic, WithoutSummariesEmbeddingsAreNotComparedWithActivations) {
  EXPECT_THAT(Pipeline(kNic).ForgetSummaries().Evaluate(), IsEmpty());
}

TEST(OtherTraffic, OperationsDifferInWhatTheyMakeOfAPort) {
  EXPECT_THAT(Pipeline(0.7 * kNic).Evaluate(), IsEmpty());
}

TEST(OtherTraffic, IsSilentWhereChannelsAreNotKnown) {
  EXPECT_THAT(Pipeline(20).ForgetChannels().Evaluate(), IsEmpty());
}

// Embeddings go the same slow way, all of them, so that each is as fast as its peers: they do not
// say that the way is well.
TEST(OtherTraffic, WhatOnlyHostsOnASlowPathExchangeIsNoSignThatItIsWell) {
  const std::vector<Finding> findings = Pipeline(0.5 * kNic, 2, 0.5 * kNic).Evaluate();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "path");
  EXPECT_THAT(findings[0].culprits, ElementsAre(Culprit{.rank = -1, .host = "host0"},
                                                Culprit{.rank = -1, .host = "host1"}));
  EXPECT_THAT(Pipeline(0.5 * kNic, 2).Evaluate(), IsEmpty()) << "all embeddings are as they are";
}

// Activations are few, and cost nothing; embeddings are many.
TEST(OtherTraffic, WhatIsSentBySlowPortsAloneCostsWhatItWouldNotElsewhere) {
  const auto evaluate = [](double embedding_speed, double from_first) {
    return Pipeline(embedding_speed, 2, from_first, 0.02).Evaluate();
  };
  const std::vector<Finding> findings = evaluate(0.5 * kNic, 0.5 * kNic);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "path");
  EXPECT_NEAR(findings[0].lost_ns_per_step, 8 * 100e6 / kNic, 1e4)
      << "as long again, on each of eight channels";
  EXPECT_THAT(evaluate(kNic, 0.5 * kNic), IsEmpty());
  EXPECT_THAT(evaluate(0.5 * kNic, kNic), IsEmpty()) << "nothing else says so";
}

TEST(OtherTraffic, WhatManyHostsExchangeEquallySlowlyIsHowItIs) {
  Pipeline job(20);
  for (uint32_t rank = 0; rank < Pipeline::kRanks; ++rank) {
    const uint32_t one = rank + Pipeline::kRanks;
    const uint32_t other = rank + 2 * Pipeline::kRanks;
    job.Exchange(job.AddGroup("embedding", {one, other}), one, other, 20, 8);
  }
  EXPECT_THAT(job.Evaluate(), IsEmpty());
}

// Two hosts of eight, experts in groups of four. Gradients go around rings over three or four
// channels of NVLink, tokens straight to everybody; of these there are more on some ranks, so that
// what is said of both together differs from pair to pair.
TEST(LinkCells, ExpertsAndGradientsAreNotCompared) {
  const auto evaluate = [](bool communicators_known) {
    TrainingView job(16);
    job.RunOnAll("gemm", 50, "", FunctionClass::kGpuCompute);
    const auto add_group = [&job](const std::string& description, uint32_t first, uint32_t count) {
      CollectiveSummary& summary = job.AddSummary();
      summary.communicator_description = description;
      summary.bytes = 1;
      for (uint32_t rank = first; rank < first + count; ++rank) {
        summary.members.push_back({.rank = RankId{rank}});
        job.batches()[rank].communicators.push_back(summary.communicator);
      }
      return summary.communicator;
    };
    const CommId data = add_group("data", 0, 16);
    for (uint32_t group = 0; group < 4; ++group) {
      const CommId experts = add_group("experts", 4 * group, 4);
      const double tokens = 0.7e9 * (1 + 0.2 * group);
      for (uint32_t one = 4 * group; one < 4 * group + 4; ++one) {
        for (uint32_t other = 4 * group; other < 4 * group + 4; ++other) {
          const bool ring = one + 1 == other || other + 1 == one;
          const double gradients = ring ? 0.25e9 * (3 + one % 2) : 0;
          if (one == other) continue;
          std::vector<ConnectionPattern>& rows = job.batches()[one].connections;
          const auto row = [&](CommId of, double bytes, double busy_ns, uint8_t channels) {
            rows.push_back({.peer = other,
                            .resource = Resource::kNvlink,
                            .bytes = static_cast<uint64_t>(bytes),
                            .busy_ns = static_cast<int64_t>(busy_ns),
                            .channels = channels,
                            .communicator = of});
          };
          if (!communicators_known) {
            row({}, tokens + gradients, tokens / 186 + gradients / 23, 0);
            continue;
          }
          row(experts, tokens, tokens / 186, 1);
          if (ring) row(data, gradients, gradients / 23, 4);
        }
      }
    }
    job.Finish();
    return ClaimsOf<LinkMatrixOperator>(job);
  };
  EXPECT_THAT(evaluate(true), IsEmpty());
  EXPECT_THAT(evaluate(false), IsEmpty());
}

}  // namespace
}  // namespace eroica
