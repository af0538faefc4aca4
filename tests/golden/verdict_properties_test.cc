// What must not matter to a verdict, on every window of simulated jobs: who has which number, how
// fast the clock of the whole job ticks, whether one victim more or less reports, whether more
// healthy ranks stand by.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "diagnosis/explanation/root_cause.h"
#include "tests/evaluation/score/job_run.h"
#include "tests/evaluation/score/scenario_file.h"
#include "tests/evaluation/score/window_views.h"
#include "tests/evaluation/simulate/job_simulation.h"

namespace eroica {
namespace {

// Copies of what a window's view is made of.
struct WindowInput {
  std::vector<PatternBatch> batches;
  std::vector<CollectiveSummary> summaries;
};

// A finding as far as it is a verdict: its kind, who is to blame, what they ran.
struct Verdict {
  FindingKind kind = FindingKind::kSlowRank;
  std::set<int64_t> ranks;
  std::string function;
  friend auto operator<=>(const Verdict&, const Verdict&) = default;
  friend void PrintTo(const Verdict& verdict, std::ostream* out) {
    *out << "kind " << static_cast<int>(verdict.kind) << " in '" << verdict.function
         << "' of ranks";
    for (const int64_t rank : verdict.ranks) *out << ' ' << rank;
  }
};

using Verdicts = std::multiset<Verdict>;

Verdicts Judge(const WindowInput& window) {
  static const RootCause root_cause(DefaultOperators());
  Verdicts verdicts;
  for (const Finding& finding :
       root_cause.Diagnose(CrossRankView(window.batches, window.summaries))) {
    Verdict verdict{.kind = finding.kind, .ranks = {}, .function = finding.function};
    for (const Culprit& culprit : finding.culprits) verdict.ranks.insert(culprit.rank);
    verdicts.insert(std::move(verdict));
  }
  return verdicts;
}

std::vector<WindowInput> WindowsOf(const std::string& scenario_name) {
  const absl::StatusOr<Scenario> scenario =
      ReadScenario("tests/scenarios/dev/" + scenario_name + ".toml");
  EXPECT_TRUE(scenario.ok()) << scenario.status();
  absl::StatusOr<std::unique_ptr<JobRun>> run = JobRun::Create(EdgeSummarizer::InOrder());
  EXPECT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(simulate::Simulate(scenario->job, **run).ok());
  EXPECT_TRUE((*run)->Align().ok());
  std::vector<WindowInput> windows;
  WindowViews views([&windows](const CrossRankView& view) {
    WindowInput& window = windows.emplace_back();
    for (const RankView& rank : view.ranks()) window.batches.push_back(*rank.batch);
    window.summaries.assign(view.summaries().begin(), view.summaries().end());
  });
  EXPECT_TRUE(
      (*run)
          ->ForEachPattern([&views](const ConsumerRecord& record) { return views.Add(record); })
          .ok());
  views.Finish();
  return windows;
}

template <typename Number>
void Multiply(Number& number, int64_t factor) {
  number *= static_cast<Number>(factor);
}

void SlowDown(PatternBatch& batch, int64_t factor) {
  for (int64_t* time : {&batch.window.start_ns, &batch.window.end_ns, &batch.watermark_ns})
    Multiply(*time, factor);
  for (StepRecord& step : batch.steps) {
    Multiply(step.duration_ns, factor);
    Multiply(step.peer_wait_ns, factor);
    for (int64_t& stage : step.stage_ns) Multiply(stage, factor);
  }
  for (FunctionPattern& pattern : batch.patterns) {
    for (int64_t* time : {&pattern.total_ns, &pattern.critical_ns, &pattern.duration_min_ns,
                          &pattern.duration_max_ns})
      Multiply(*time, factor);
    Multiply(pattern.duration_mean_ns, factor);
    Multiply(pattern.duration_m2, factor * factor);
  }
  for (int64_t& time : batch.folded_critical_ns) Multiply(time, factor);
  for (ConnectionPattern& connection : batch.connections) Multiply(connection.busy_ns, factor);
}

void SlowDown(CollectiveSummary& summary, int64_t factor) {
  for (int64_t* time : {&summary.window.start_ns, &summary.window.end_ns, &summary.transfer_ns})
    Multiply(*time, factor);
  for (MemberSummary& member : summary.members) {
    for (int64_t* time :
         {&member.wait_ns, &member.exposed_wait_ns, &member.lateness_ns, &member.caused_wait_ns})
      Multiply(*time, factor);
    for (Blocker& blocker : member.blockers) {
      Multiply(blocker.caused_wait_ns, factor);
      Multiply(blocker.run_ns, factor);
    }
  }
  for (PairSummary& pair : summary.pairs) {
    Multiply(pair.receive_wait_ns, factor);
    Multiply(pair.send_wait_ns, factor);
  }
}

// Every rank gets another number; who talks to whom stays.
void Renumber(const std::function<RankId(RankId)>& number, WindowInput& window) {
  for (PatternBatch& batch : window.batches) {
    batch.rank = number(batch.rank);
    for (ConnectionPattern& connection : batch.connections)
      connection.peer = number(RankId{connection.peer}).value;
    std::ranges::sort(batch.connections, {},
                      [](const ConnectionPattern& c) { return std::pair(c.peer, c.resource); });
  }
  for (CollectiveSummary& summary : window.summaries) {
    for (MemberSummary& member : summary.members) member.rank = number(member.rank);
    for (PairSummary& pair : summary.pairs)
      pair = {number(pair.source),  number(pair.destination), pair.count,
              pair.receive_wait_ns, pair.send_wait_ns,        pair.unmatched};
    for (RankId& missing : summary.missing) missing = number(missing);
    std::ranges::sort(summary.members, {}, &MemberSummary::rank);
    std::ranges::sort(summary.pairs, {},
                      [](const PairSummary& p) { return std::pair(p.source, p.destination); });
    std::ranges::sort(summary.missing);
  }
}

Verdicts Renumbered(const Verdicts& verdicts, const std::function<RankId(RankId)>& number) {
  Verdicts renumbered;
  for (const Verdict& verdict : verdicts) {
    Verdict other{.kind = verdict.kind, .ranks = {}, .function = verdict.function};
    for (const int64_t rank : verdict.ranks)
      other.ranks.insert(number(RankId{static_cast<uint32_t>(rank)}).value);
    renumbered.insert(std::move(other));
  }
  return renumbered;
}

std::set<int64_t> Blamed(const Verdicts& verdicts) {
  std::set<int64_t> ranks;
  for (const Verdict& verdict : verdicts) ranks.insert(verdict.ranks.begin(), verdict.ranks.end());
  return ranks;
}

class VerdictProperties : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    windows_ = WindowsOf(GetParam());
    ASSERT_GE(windows_.size(), 3u);
    for (const WindowInput& window : windows_) verdicts_.push_back(Judge(window));
  }

  std::vector<WindowInput> windows_;
  std::vector<Verdicts> verdicts_;
};

// Without a verdict nothing would be tested: faulty jobs have one in some window, healthy ones have
// none.
TEST_P(VerdictProperties, FaultsAreFoundAndHealthyJobsAreNot) {
  const bool healthy = std::string(GetParam()).starts_with("healthy");
  const auto said = [](const Verdicts& verdicts) { return !verdicts.empty(); };
  EXPECT_EQ(std::ranges::any_of(verdicts_, said), !healthy);
}

TEST_P(VerdictProperties, TheClockOfTheJobDoesNotMatter) {
  for (size_t w = 0; w < windows_.size(); ++w) {
    WindowInput slower = windows_[w];
    for (PatternBatch& batch : slower.batches) SlowDown(batch, 3);
    for (CollectiveSummary& summary : slower.summaries) SlowDown(summary, 3);
    EXPECT_EQ(Judge(slower), verdicts_[w]) << "window " << w;
  }
}

TEST_P(VerdictProperties, NumbersOfRanksDoNotMatter) {
  const auto world = static_cast<uint32_t>(windows_.front().batches.size());
  const auto reversed = [world](RankId rank) { return RankId{world - 1 - rank.value}; };
  const auto rotated = [world](RankId rank) {
    return RankId{(rank.value + world / 2 + 1) % world};
  };
  for (const std::function<RankId(RankId)>& number :
       {std::function<RankId(RankId)>(reversed), std::function<RankId(RankId)>(rotated)}) {
    for (size_t w = 0; w < windows_.size(); ++w) {
      WindowInput renumbered = windows_[w];
      Renumber(number, renumbered);
      EXPECT_EQ(Judge(renumbered), Renumbered(verdicts_[w], number)) << "window " << w;
    }
  }
}

TEST_P(VerdictProperties, TheOrderOfArrivalDoesNotMatter) {
  for (size_t w = 0; w < windows_.size(); ++w) {
    WindowInput reversed = windows_[w];
    std::ranges::reverse(reversed.batches);
    std::ranges::reverse(reversed.summaries);
    EXPECT_EQ(Judge(reversed), verdicts_[w]) << "window " << w;
  }
}

TEST_P(VerdictProperties, AVictimThatDoesNotReportChangesNoCulprit) {
  for (size_t w = 0; w < windows_.size(); ++w) {
    const std::set<int64_t> blamed = Blamed(verdicts_[w]);
    if (blamed.empty()) continue;
    WindowInput fewer = windows_[w];
    const auto victim = std::ranges::find_if(fewer.batches, [&](const PatternBatch& batch) {
      return !blamed.contains(batch.rank.value);
    });
    if (victim == fewer.batches.end()) continue;
    const RankId silent = victim->rank;
    fewer.batches.erase(victim);
    for (CollectiveSummary& summary : fewer.summaries) {
      if (std::erase_if(summary.members, [silent](const MemberSummary& member) {
            return member.rank == silent;
          }) > 0)
        summary.missing.push_back(silent);
    }
    EXPECT_THAT(Blamed(Judge(fewer)), ::testing::ContainerEq(blamed))
        << "window " << w << " without rank " << silent.value;
  }
}

// The healthy ranks of a window once more, on other hosts, with communicators of their own.
void AddHealthyTwins(const std::set<int64_t>& blamed, WindowInput& window) {
  constexpr uint64_t kOtherCommunicators = 1'000'000;
  const auto world = static_cast<uint32_t>(window.batches.size());
  const auto twin_of = [world](RankId rank) { return RankId{rank.value + world}; };
  const auto is_blamed = [&blamed](RankId rank) { return blamed.contains(rank.value); };
  const WindowInput original = window;
  for (PatternBatch batch : original.batches) {
    if (is_blamed(batch.rank)) continue;
    batch.rank = twin_of(batch.rank);
    batch.host += "-twin";
    for (CommId& communicator : batch.communicators) communicator.value += kOtherCommunicators;
    std::erase_if(batch.connections, [&](const ConnectionPattern& connection) {
      return is_blamed(RankId{connection.peer});
    });
    for (ConnectionPattern& connection : batch.connections) connection.peer += world;
    window.batches.push_back(std::move(batch));
  }
  for (CollectiveSummary summary : original.summaries) {
    summary.communicator.value += kOtherCommunicators;
    std::erase_if(summary.members,
                  [&](const MemberSummary& member) { return is_blamed(member.rank); });
    std::erase_if(summary.pairs, [&](const PairSummary& pair) {
      return is_blamed(pair.source) || is_blamed(pair.destination);
    });
    for (MemberSummary& member : summary.members) member.rank = twin_of(member.rank);
    for (PairSummary& pair : summary.pairs)
      pair.source = twin_of(pair.source), pair.destination = twin_of(pair.destination);
    window.summaries.push_back(std::move(summary));
  }
  for (PatternBatch& batch : window.batches)
    batch.world_size = static_cast<uint32_t>(window.batches.size());
}

TEST_P(VerdictProperties, MoreHealthyRanksChangeNoCulprit) {
  for (size_t w = 0; w < windows_.size(); ++w) {
    const std::set<int64_t> blamed = Blamed(verdicts_[w]);
    WindowInput more = windows_[w];
    AddHealthyTwins(blamed, more);
    EXPECT_THAT(Blamed(Judge(more)), ::testing::ContainerEq(blamed)) << "window " << w;
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, VerdictProperties,
                         ::testing::Values("gpu_slow_gross_dp_8r", "slow_function_gross_dp_8r",
                                           "data_loader_slow_gross_dp_8r",
                                           "gil_contention_gross_dp_8r", "gpu_shared_gross_dp_8r",
                                           "ecc_retries_gross_tp_dp_32r",
                                           "stage_imbalance_gross_pp_dp_32r",
                                           "healthy_plain_pp_dp_32r", "healthy_lengths_dp_8r",
                                           "healthy_routing_moe_32r"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace eroica
