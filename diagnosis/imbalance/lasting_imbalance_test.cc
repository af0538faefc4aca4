// Inputs and routing that are drawn anew for each step, over many windows: what no window of a few
// steps can tell is told by all of them together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "diagnosis/imbalance/imbalance_operator.h"
#include "diagnosis/measurements/training_view.h"

namespace eroica {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct UnevenJob {
  uint64_t seed = 1;
  double lengths = 0;   // spread of each replica's sequences
  double routing = 0;   // and of the tokens that its experts get
  uint32_t steps = 4;   // of a window
  uint32_t shared = 1;  // so many ranks have the same sequences
};

// What one rank has in a window besides.
struct Burden {
  uint32_t rank = 5;
  double tokens = 1;   // as a factor, for its experts
  double copy_ms = 0;  // to its device
};

class UnevenWindows {
 public:
  explicit UnevenWindows(UnevenJob job) : job_(job), random_(job.seed) {}

  // longer: by replica, of its sequences.
  std::vector<Finding> Next(const std::vector<double>& longer, const Burden& burden = {}) {
    TrainingView job(static_cast<uint32_t>(longer.size()), job_.steps);
    for (uint32_t rank = 0; rank < longer.size(); ++rank)
      AddRank(job, rank, longer[rank], rank == burden.rank ? burden : Burden());
    job.Finish();
    for (PatternBatch& batch : job.batches())
      batch.window.index = static_cast<int64_t>(times_.size());
    const CrossRankView view(
        job.batches(), {},
        {.profiles = profiles_, .times = times_, .work = work_, .bytes = bytes_});
    std::vector<Finding> findings;
    ImbalanceOperator().Evaluate(view, findings);
    std::erase_if(findings, [](const Finding& finding) { return finding.subkind == "varying"; });
    profiles_.push_back(view.profile());
    times_.push_back(view.rank_times());
    work_.push_back(view.work_times());
    bytes_.push_back(view.exchanged());
    return findings;
  }

 private:
  // The experts of a job with routing compute what the router sends them, from whomever it comes.
  void AddRank(TrainingView& job, uint32_t rank, double longer, const Burden& burden) {
    const int kernels = job_.routing > 0 ? 3 : 5;
    if (rank % job_.shared == 0) {
      inputs_ = random_;
    } else {
      random_ = inputs_;
    }
    const double data = Draw(job, rank, job_.lengths, longer, 20 * kernels);
    for (int kernel = 0; kernel < kernels; ++kernel)
      Kernel(job, rank, kernel == 0 ? "layer_norm" : "gemm_" + std::to_string(kernel), 20, data);
    job.Run(rank, "AdamFunctor", 4, "", FunctionClass::kGpuCompute);
    if (burden.copy_ms > 0)
      job.Run(rank, "Memcpy HtoD", burden.copy_ms, "", FunctionClass::kMemoryOp);
    if (job_.routing == 0) return;
    const double experts = Draw(job, rank, job_.routing, burden.tokens, 40);
    Kernel(job, rank, "grouped_gemm", 40, experts);
    job.Run(rank, "SendRecv", 1, "", FunctionClass::kCollective);
    job.batches()[rank].patterns.back().bytes = static_cast<uint64_t>(1e9 * experts);
  }

  // The mean over the steps of what each of them has more of `ms`, as a factor.
  double Draw(TrainingView& job, uint32_t rank, double spread, double longer, double ms) {
    std::lognormal_distribution<double> drawn(0, spread);
    double sum = 0;
    for (uint32_t step = 0; step < job_.steps; ++step) {
      const double of_step = longer * (spread > 0 ? drawn(random_) : 1);
      sum += of_step;
      job.Jitter(rank, step, ms * (of_step - 1));
    }
    return sum / job_.steps;
  }

  static void Kernel(TrainingView& job, uint32_t rank, std::string_view name, double ms,
                     double longer) {
    job.Run(rank, name, ms, "", FunctionClass::kGpuCompute);
    FunctionPattern& pattern = job.batches()[rank].patterns.back();
    pattern.critical_ns = static_cast<int64_t>(static_cast<double>(pattern.critical_ns) * longer);
  }

  UnevenJob job_;
  std::mt19937_64 random_;
  std::mt19937_64 inputs_;  // as random_ was before the first rank that shares them
  std::vector<PatternBatch> profiles_;
  std::vector<RankTimes> times_;
  std::vector<RankTimes> work_;
  std::vector<RankTimes> bytes_;
};

std::vector<Finding> AfterWindows(UnevenJob job, const std::vector<double>& longer, int windows) {
  UnevenWindows uneven(job);
  std::vector<Finding> findings;
  for (int window = 0; window < windows; ++window) findings = uneven.Next(longer);
  return findings;
}

TEST(LastingImbalance, LongerSequencesAmongUnevenOnesAddUp) {
  const std::vector<double> longer = {1, 1, 1, 1, 1, 1.2, 1, 1};
  EXPECT_THAT(AfterWindows({.lengths = 0.1}, longer, 2), IsEmpty()) << "few windows tell nothing";
  const std::vector<Finding> findings = AfterWindows({.lengths = 0.1}, longer, 12);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingKind::kImbalance);
  EXPECT_EQ(findings[0].subkind, "data");
  EXPECT_THAT(findings[0].culprits, IsEmpty());
  EXPECT_THAT(findings[0].title, HasSubstr("rank 5"));
}

TEST(LastingImbalance, RoutingThatChangesHidesNoLongerSequences) {
  const std::vector<Finding> findings =
      AfterWindows({.routing = 0.3}, {1, 1, 1, 1, 1, 1.15, 1, 1}, 3);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "data");
  EXPECT_THAT(findings[0].title, HasSubstr("rank 5"));
}

TEST(LastingImbalance, MoreReplicasMayHaveLongerSequencesThanNot) {
  for (const std::vector<double>& longer :
       {std::vector<double>{1.2, 1.2, 1, 1.2}, {1.2, 1, 1.2, 1.2, 1, 1.2}}) {
    const std::vector<Finding> findings = AfterWindows({}, longer, 4);
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_EQ(findings[0].subkind, "data");
    EXPECT_THAT(findings[0].title, HasSubstr("ranks 0, "));
    EXPECT_EQ(findings[0].victims.size(), longer.size() == 4 ? 1u : 2u);
  }
}

TEST(LastingImbalance, OneOfTwoReplicasAlwaysHasMore) {
  EXPECT_THAT(AfterWindows({.lengths = 0.03, .shared = 2}, {1.1, 1.1, 1, 1, 1, 1}, 4), IsEmpty());
  EXPECT_THAT(AfterWindows({.lengths = 0.03, .shared = 2}, {1.1, 1.1, 1, 1, 1, 1}, 12), SizeIs(1))
      << "over so many windows it is no coincidence";
  EXPECT_THAT(AfterWindows({.lengths = 0.03}, {1.1, 1.1, 1.1, 1, 1, 1}, 4), SizeIs(1))
      << "each has its own amount: they are six";
  EXPECT_THAT(AfterWindows({.lengths = 0.03}, {1.1, 1, 1, 1, 1, 1}, 4), SizeIs(1));
}

TEST(LastingImbalance, WhatAllReplicasHaveIsNoImbalance) {
  EXPECT_THAT(AfterWindows({.lengths = 0.02}, {1.2, 1.2, 1.2, 1.2}, 8), IsEmpty());
}

TEST(LastingImbalance, WhatIsEqualInTheLongRunIsHealthy) {
  for (const size_t ranks : {4u, 16u}) {
    for (const auto& [lengths, routing] :
         {std::pair(0.02, 0.0), {0.1, 0.1}, {0.3, 0.0}, {0.0, 0.3}, {0.3, 0.3}}) {
      UnevenWindows job({.seed = 5, .lengths = lengths, .routing = routing, .steps = 3});
      for (int window = 0; window < 100; ++window) {
        EXPECT_THAT(job.Next(std::vector<double>(ranks, 1)), IsEmpty())
            << lengths << " " << routing << " " << ranks << ", window " << window;
      }
    }
  }
}

// Devices of one kind differ for good, which many ranks show before one does: of twenty jobs one
// may have a device that looks like no other's.
TEST(LastingImbalance, WhatHealthyDevicesDifferByIsNoImbalance) {
  int claimed = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> device(1, 0.01);
    std::vector<double> slower(48);
    for (double& rank : slower) rank = device(random);
    UnevenWindows job({.seed = seed, .lengths = 0.03});
    bool any = false;
    for (int window = 0; window < 20; ++window) any = !job.Next(slower).empty() || any;
    claimed += any ? 1 : 0;
  }
  EXPECT_LE(claimed, 1);
}

TEST(LastingImbalance, AnExpertThatIsAskedForMoreInEveryWindow) {
  UnevenWindows job({.routing = 0.1});
  std::vector<Finding> findings;
  for (int window = 0; window < 8; ++window)
    findings = job.Next(std::vector<double>(8, 1), {.tokens = 1.3});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].subkind, "expert");
  EXPECT_THAT(findings[0].title, HasSubstr("rank 5"));
}

// A device takes longer for the same bytes; that a rank exchanges more is its routing, whether or
// not it computes longer for that by more than healthy devices differ.
TEST(LastingImbalance, AnExpertThatIsAskedForMuchMoreShowsInFewWindows) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    UnevenWindows job({.seed = seed, .routing = 0.2, .steps = 3});
    const std::vector<double> same(8, 1);
    for (int window = 0; window < 10; ++window)
      EXPECT_THAT(job.Next(same), IsEmpty()) << "seed " << seed << ", window " << window;
    std::vector<Finding> findings;
    for (int window = 0; window < 8; ++window) findings = job.Next(same, {.tokens = 1.7});
    found += findings.size() == 1 && findings[0].subkind == "expert" ? 1 : 0;
  }
  EXPECT_GE(found, 17);
}

TEST(LastingImbalance, MoreTokensInOneWindowAreNotWhyARankIsLateInAll) {
  UnevenWindows job({.routing = 0.1});
  for (int window = 0; window < 11; ++window) job.Next(std::vector<double>(8, 1), {.copy_ms = 12});
  EXPECT_THAT(job.Next(std::vector<double>(8, 1), {.tokens = 1.3, .copy_ms = 12}), IsEmpty());
}

TEST(LastingImbalance, WhatIsOverIsNotSaid) {
  UnevenWindows job({.lengths = 0.05});
  for (int window = 0; window < 9; ++window) job.Next({1, 1, 1, 1.2});
  EXPECT_THAT(job.Next({1, 1, 1, 1}), IsEmpty());
}

}  // namespace
}  // namespace eroica
